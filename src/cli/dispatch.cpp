#include "cli/dispatch.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <ostream>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "base/trace.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/rank_zero.h"
#include "device/out_of_memory.h"

namespace flexor::cli {
namespace {

/// The flags that every command takes, taken off the command line.
struct GlobalFlags {
  bool help = false, version = false, quiet = false, verbose = false;
};

GlobalFlags take_global_flags(std::vector<std::string>& arguments) {
  GlobalFlags flags;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {  // what follows is not ours
      rest.insert(rest.end(), arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
      break;
    }
    bool* flag = argument == "-h" || argument == "--help"      ? &flags.help
                 : argument == "--version"                     ? &flags.version
                 : argument == "-q" || argument == "--quiet"   ? &flags.quiet
                 : argument == "-v" || argument == "--verbose" ? &flags.verbose
                                                               : nullptr;
    if (flag != nullptr) {
      *flag = true;
    } else {
      rest.push_back(argument);
    }
  }
  arguments = std::move(rest);
  return flags;
}

struct Found {
  const Command* command = nullptr;  ///< null for a group ("dataset") or nothing at all
  std::string path;                  ///< the words that were understood
  size_t num_words = 0;
};

bool is_group(std::string_view path) {
  return std::ranges::any_of(commands(), [&](const Command* c) { return c->path.starts_with(str_cat(path, " ")); });
}

/// The longest command or group that the first words spell.
Found find(const std::vector<std::string>& words) {
  Found found;
  std::string path;
  for (size_t i = 0; i < words.size(); ++i) {
    path += (i == 0 ? "" : " ") + words[i];
    const Command* command = find_command(path);
    if (command == nullptr && !is_group(path)) {
      break;
    }
    found = {command, path, i + 1};
  }
  return found;
}

[[noreturn]] void refuse_unknown(const std::vector<std::string>& words, const Found& found) {
  if (found.num_words == words.size()) {  // a group alone
    throw Error(ErrorKind::kUsage, str_cat("'", found.path, "' needs one more word"), {},
                str_cat("flexor ", found.path, " --help lists its commands"));
  }
  const std::string& wanted = words[found.num_words];
  const std::string prefix = found.path.empty() ? "" : found.path + " ";
  std::vector<std::string> candidates;
  for (const Command* command : commands()) {
    if (command->path.starts_with(prefix)) {
      candidates.emplace_back(command->path.substr(prefix.size()));
    }
  }
  const std::string nearest(flexor::nearest(wanted, candidates));
  throw Error(
      ErrorKind::kUsage, str_cat("unknown command '", prefix, wanted, "'"), {},
      nearest.empty() ? "flexor --help lists the commands" : str_cat("did you mean 'flexor ", prefix, nearest, "'?"));
}

/// With --verbose: where the time of the parts that are measured went.
void log_trace() {
  for (const TraceTotal& total : trace_totals()) {
    log_debug("time spent",
              {{"part", total.name}, {"seconds", short_number(total.seconds, 3)}, {"passes", total.passes}});
  }
}

int run(std::vector<std::string> arguments, const Io& io) {
  const GlobalFlags flags = take_global_flags(arguments);
  if (flags.quiet && flags.verbose) {
    throw Error(ErrorKind::kUsage, "--quiet and --verbose contradict each other");
  }
  if (flags.quiet || flags.verbose) {
    set_log_level(flags.quiet ? LogLevel::kWarn : LogLevel::kDebug);
  }
  if (flags.version) {
    io.out << version_text() << '\n';
    return 0;
  }
  const Found found = find(arguments);
  if (flags.help) {
    if (found.num_words == 0 && !arguments.empty() && !arguments[0].starts_with("-")) {
      refuse_unknown(arguments, found);
    }
    io.out << (found.command != nullptr ? command_help(*found.command) : overview(found.path));
    return 0;
  }
  if (arguments.empty()) {
    io.err << overview({});
    throw Error(ErrorKind::kUsage, "no command given", {}, "flexor --help lists the commands");
  }
  if (found.command == nullptr) {
    refuse_unknown(arguments, found);
  }
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(found.num_words));
  if (found.command->for_rank_zero && is_left_to_rank_zero(found.path)) {
    return 0;
  }
  try {
    const int code = found.command->run(arguments, io);
    log_trace();
    return code;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage && error.hint().empty()) {
      throw Error(error.kind(), error.what(), error.where(), str_cat("flexor ", found.path, " --help shows its flags"));
    }
    throw;
  }
}

/// `flexor ... | head` is no error.
bool reader_is_gone() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int report(const Error& error, const Io& io) {
  io.out.flush();
  io.err << format_error(error) << std::flush;
  return exit_code(error.kind());
}

}  // namespace

int dispatch(const std::vector<std::string>& arguments, const Io& io) {
  try {
    const int code = run(arguments, io);
    io.out.flush();
    if (!io.out && !reader_is_gone()) {
      throw Error(ErrorKind::kFile, "the result could not be written", "stdout", "is the disk full?");
    }
    return code;
  } catch (const Error& error) {
    return report(error, io);
  } catch (const std::exception& error) {
    if (device::is_out_of_memory(error)) {
      return report(device::out_of_memory(error, {}, {}), io);
    }
    return report(to_error(error), io);
  } catch (...) {
    return report(Error(ErrorKind::kRuntime, "something that is no C++ exception was thrown"), io);
  }
}

}  // namespace flexor::cli
