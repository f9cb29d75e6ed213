#pragma once
#include <string>
#include <string_view>

#include "cli/command.h"

namespace flexor::cli {

/// "flexor 0.1.0"
std::string version_text();

/// The list of commands; of one group only if `group` is a path such as "dataset".
std::string overview(std::string_view group);

/// Everything about one command: summary, usage, notes.
std::string command_help(const Command& command);

/// The same as its part of docs/cli.md.
std::string command_markdown(const Command& command);

/// All commands as one Markdown page: docs/cli.md.
std::string markdown_page();

}  // namespace flexor::cli
