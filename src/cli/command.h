#pragma once
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::cli {

/// What stands on the command line after the command's own words.
using Args = std::vector<std::string>;

/// Where a command writes: `out` is the result, `err` is for people. Logging goes to stderr by itself.
struct Io {
  std::ostream& out;
  std::ostream& err;
};

/// One subcommand; commands.cpp lists them all. Constant-initialised: the table costs nothing at the start.
struct Command {
  std::string_view path;                        ///< its words: "dataset info"
  std::string_view summary;                     ///< one line, ends with a full stop
  std::string_view notes;                       ///< a paragraph or two for its help: what it writes, an example
  std::string (*usage)(std::string_view name);  ///< arguments and flags, from the options' field table: &usage<Options>
  int (*run)(const Args& args, const Io& io);   ///< @returns the exit code  @throws Error
  bool for_rank_zero = false;                   ///< writes what only one process may: other ranks of a launch leave it
};

}  // namespace flexor::cli
