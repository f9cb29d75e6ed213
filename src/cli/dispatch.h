#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace flexor::cli {

/// The program behind main(): finds the command, runs it, and turns whatever it throws into two lines on `io.err` and
/// an exit code (2 usage or configuration, 130 Ctrl-C, 143 SIGTERM, 1 all else). Never throws.
/// @param arguments  the command line without the program's name
int dispatch(const std::vector<std::string>& arguments, const Io& io);

}  // namespace flexor::cli
