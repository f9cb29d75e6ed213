#pragma once
#include <exception>
#include <stdexcept>
#include <string>

namespace flexor {

/// Why something failed; decides the exit code of the program (see exit_code).
enum class ErrorKind {
  kUsage,        ///< the command line: unknown flag, missing argument
  kConfig,       ///< unknown key or value, keys that contradict each other
  kFile,         ///< a path that is missing, unreadable, unwritable, or a full disk
  kData,         ///< a dataset, table, video or statistics file whose content is wrong
  kCheckpoint,   ///< weights or training state that do not fit
  kRuntime,      ///< the run itself: a device, memory, a loss that is not finite
  kInterrupted,  ///< Ctrl-C
  kTerminated,   ///< SIGTERM
};

/// The one exception of the program. `what` states found and expected values, `where` the place (file:line, config key,
/// episode and frame, tensor name), `hint` a command or an edit that helps; `where` and `hint` may be empty.
/// All three are lower case, without a full stop.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string what, std::string where = {}, std::string hint = {});

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string where_;
  std::string hint_;
};

/// 2 for usage and config, 130 after Ctrl-C, 143 after SIGTERM, 1 for all else.
int exit_code(ErrorKind kind);

/// The two lines that the user sees: "error: WHAT (WHERE)\n  hint: HINT\n"; parts that are empty are left out.
std::string format_error(const Error& error);

/// Any exception as an Error: itself if it is one, else kRuntime with its text (first line only for LibTorch's).
Error to_error(const std::exception& exception);

}  // namespace flexor
