#include <ostream>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "config/command_line.h"
#include "config/print.h"
#include "recap/recap_config.h"
#include "train/train_config.h"

namespace flexor::cli {
namespace {

struct HelpOptions {
  std::vector<std::string> topic;
  bool markdown = false;
};

void fields(config::FieldTable& table, HelpOptions& o) {
  table.rest("topic", o.topic, "a command, or config, config recap: the keys of a configuration");
  table("markdown", o.markdown,
        "as Markdown: the page of all commands, a command's part of it, or the page of all keys");
}

constexpr std::string_view kConfigIntroduction =
    "Keys of `flexor train`, in a YAML file (`--config FILE`) or as `key=value` on the command line. Defaults are "
    "those of\n"
    "the program; a recipe in configs/ and the preset of the policy change some of them.\n\n";

constexpr std::string_view kRecapIntroduction =
    "Keys of `flexor recap`. A single step takes the keys of its section without the section's name too. Every section "
    "has "
    "its\nown `data` with the keys of the shared one, which it wins over.\n\n";

void print_docs(std::ostream& out, std::string_view introduction, const std::vector<config::FieldDoc>& docs,
                bool markdown) {
  out << introduction << (markdown ? config::to_markdown(docs) : config::to_text(docs));
}

void print_config_help(std::ostream& out, bool markdown) {
  if (markdown) {
    out << "# Configuration\n\n<!-- generated: flexor help config --markdown > docs/config.md -->\n\n";
  }
  print_docs(out, kConfigIntroduction, config::describe_config<train::TrainConfig>(), markdown);
}

void print_recap_help(std::ostream& out, bool markdown) {
  std::vector<config::FieldDoc> docs;
  for (config::FieldDoc& doc : config::describe_config<recap::RecapConfig>()) {
    if (doc.key.find(".data.") == std::string::npos) {  // as the shared ones
      docs.push_back(std::move(doc));
    }
  }
  if (markdown) {
    out << "# Configuration of RECAP\n\n"
           "<!-- generated: flexor help config recap --markdown > docs/recap_config.md -->\n\n";
  }
  print_docs(out, kRecapIntroduction, docs, markdown);
}

int run_help(const Args& args, const Io& io) {
  const auto options = config::parse<HelpOptions>(args);
  const std::string topic = join_text(options.topic, " ");
  if (const Command* command = find_command(topic)) {
    io.out << (options.markdown ? command_markdown(*command) : command_help(*command));
  } else if (topic.empty()) {
    io.out << (options.markdown ? markdown_page() : overview({}));
  } else if (topic == "config") {
    print_config_help(io.out, options.markdown);
  } else if (topic == "config recap") {
    print_recap_help(io.out, options.markdown);
  } else {
    std::vector<std::string> topics = {"config", "config recap"};
    for (const Command* other : commands()) {
      topics.emplace_back(other->path);
    }
    const std::string near = nearest(topic, topics);
    throw Error(ErrorKind::kUsage, str_cat("no command is called '", topic, "'"), {},
                near.empty() ? "flexor --help lists the commands" : str_cat("did you mean 'flexor help ", near, "'?"));
  }
  return 0;
}

}  // namespace

const Command kHelp{.path = "help",
                    .summary = "Show the help of a command, or the keys of a training configuration.",
                    .notes = {},
                    .usage = &config::usage<HelpOptions>,
                    .run = &run_help};

}  // namespace flexor::cli
