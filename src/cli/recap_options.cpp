#include "cli/recap_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/command_line.h"

namespace flexor::cli {

void fields(config::FieldTable& table, RecapOptions& o) {
  table("config", o.config, "YAML file, as those in configs/; several as a,b: later ones win").value_name("FILE");
  table("print_config", o.print_config, "print the step's resolved configuration and do nothing");
  table("json", o.json, "print one JSON object instead of text");
  table.rest("key=value", o.overrides, "any key of the configuration, over the file: tag=a data.gamma=0.99");
}

void refuse_dashed_keys(const Args& args, const std::vector<std::string>& own_flags) {
  for (const std::string& arg : args) {
    const bool is_ours = std::any_of(own_flags.begin(), own_flags.end(),
                                     [&arg](const std::string& flag) { return arg.starts_with("--" + flag); });
    if (arg.starts_with("--") && arg.find('=') != std::string::npos && !is_ours) {
      throw Error(ErrorKind::kUsage, str_cat("unknown flag '", arg, "'"), {},
                  str_cat("keys of the configuration are given without dashes: ", arg.substr(2)));
    }
  }
}

RecapOptions parse_recap_options(const Args& args, const std::string& example) {
  refuse_dashed_keys(args, {"config", "print", "json"});
  auto options = config::parse<RecapOptions>(args);
  require_configuration(options, example);
  return options;
}

void require_configuration(const RecapOptions& options, const std::string& example) {
  if (options.config.empty() && options.overrides.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to do: no configuration was given", {}, example);
  }
}

}  // namespace flexor::cli
