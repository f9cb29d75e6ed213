#include <ostream>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "config/command_line.h"

namespace flexor::cli {
namespace {

struct Options {
  std::vector<std::string> topic;
  bool markdown = false;
};

void fields(config::FieldTable& table, Options& o) {
  table.rest("topic", o.topic, "a command");
  table("markdown", o.markdown, "the whole manual page as Markdown, as it stands in docs/");
}

int run(const Args& args, const Io& io) {
  const auto options = config::parse<Options>(args);
  const std::string topic = join_text(options.topic, " ");
  if (const Command* command = find_command(topic)) {
    io.out << command_help(*command);
  } else if (topic.empty()) {
    io.out << (options.markdown ? markdown_page() : overview({}));
  } else {
    std::vector<std::string> topics = {};
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
                    .usage = &config::usage<Options>,
                    .run = &run};

}  // namespace flexor::cli
