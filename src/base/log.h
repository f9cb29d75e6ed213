#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str_cat.h"

namespace flexor {

/// One key=value pair of a log line; the value is formatted at once.
struct LogField {
  template <typename T>
  LogField(std::string_view name, const T& v) : key(name), value(str_cat(v)) {}
  std::string key, value;
};

// One event and its pairs on stderr: log_info("checkpoint loaded", {{"tensors", 812}, {"seconds", 3.1}}).
// Thread-safe; a progress bar on the terminal is redrawn below the line. Silent on ranks other than 0.
void log_info(std::string_view event, std::vector<LogField> fields = {});
void log_warn(std::string_view event, std::vector<LogField> fields = {});
void log_debug(std::string_view event, std::vector<LogField> fields = {});  ///< shown with --verbose

enum class LogLevel { kDebug, kInfo, kWarn, kOff };
void set_log_level(LogLevel level);

}  // namespace flexor
