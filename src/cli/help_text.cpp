#include "cli/help_text.h"

#include <algorithm>

#include "base/str_cat.h"
#include "cli/commands.h"

namespace flexor::cli {
namespace {

constexpr std::string_view kIntroduction =
    "Flexor fine-tunes, evaluates and uses the robot policies pi0 and pi0.5 on LeRobot datasets.\n";

constexpr std::string_view kGlobalFlags[][2] = {
    {"-h, --help", "show help, of a command when one is given"},
    {"-q, --quiet", "show only warnings and errors"},
    {"-v, --verbose", "show details as well"},
    {"--version", "show the version"},
};

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done, 1 a file, the data or the run itself, 2 the command line or the configuration, "
    "130 after Ctrl-C, 143 after SIGTERM.\n";

std::string padded(std::string_view text, size_t width) {
  std::string result(text);
  result.resize(std::max(width, text.size()), ' ');
  return result;
}

size_t widest_path() {
  size_t width = 0;
  for (const Command* command : commands()) {
    width = std::max(width, command->path.size());
  }
  return width;
}

std::string anchor(std::string_view path) {
  std::string result = str_cat("flexor ", path);
  std::replace(result.begin(), result.end(), ' ', '-');
  return result;
}

}  // namespace

std::string version_text() {
  return str_cat("flexor ", FLEXOR_VERSION);
}

std::string overview(std::string_view group) {
  const std::string prefix = group.empty() ? std::string() : str_cat(group, " ");
  std::string text = group.empty() ? str_cat(kIntroduction, "\nUsage: flexor COMMAND [options]\n\nCommands:\n")
                                   : str_cat("Usage: flexor ", group, " COMMAND [options]\n\nCommands:\n");
  const size_t width = widest_path() + 2;
  for (const Command* command : commands()) {
    if (command->path.starts_with(prefix)) {
      text += str_cat("  ", padded(command->path, width), command->summary, "\n");
    }
  }
  text += "\nEvery command takes:\n";
  for (const auto& [flag, meaning] : kGlobalFlags) {
    text += str_cat("  ", padded(flag, std::max(width, size_t{16})), meaning, "\n");
  }
  text += str_cat("\nflexor help COMMAND shows its options, flexor help config the keys of a training configuration.\n",
                  kExitCodes);
  return text;
}

std::string command_help(const Command& command) {
  return str_cat(command.summary, "\n\n", command.usage(str_cat("flexor ", command.path)),
                 command.notes.empty() ? "" : "\n", command.notes);
}

std::string command_markdown(const Command& command) {
  return str_cat("## flexor ", command.path, "\n\n", command.summary, "\n\n```text\n",
                 command.usage(str_cat("flexor ", command.path)), "```\n", command.notes.empty() ? "" : "\n",
                 command.notes);
}

std::string markdown_page() {
  std::string text = str_cat("# Command line\n\n<!-- generated: flexor help --markdown > docs/cli.md -->\n\n",
                             kIntroduction, "\n| command | what it does |\n| --- | --- |\n");
  for (const Command* command : commands()) {
    text += str_cat("| [`flexor ", command->path, "`](#", anchor(command->path), ") | ", command->summary, " |\n");
  }
  text += "\nEvery command takes:\n\n| flag | meaning |\n| --- | --- |\n";
  for (const auto& [flag, meaning] : kGlobalFlags) {
    text += str_cat("| `", flag, "` | ", meaning, " |\n");
  }
  text += str_cat("\n", kExitCodes,
                  "Errors go to stderr as `error: WHAT (WHERE)` and a second line `  hint: WHAT TO DO`. stdout is the "
                  "result; with `--json` it is exactly one JSON object.\n");
  for (const Command* command : commands()) {
    text += "\n" + command_markdown(*command);
  }
  return text;
}

}  // namespace flexor::cli
