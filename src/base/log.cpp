// The log sink: the one file that sees spdlog.
#include "base/log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>  // IWYU pragma: keep
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/status_line.h"

namespace flexor {
namespace {

struct Terminal {
  std::mutex mutex;
  std::string bar;
};

Terminal& terminal() {
  static auto* the_terminal = new Terminal;  // never destroyed: late destructors may still log
  return *the_terminal;
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

size_t terminal_width() {
  winsize size{};
  constexpr size_t kUsual = 80, kLeast = 20;
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<size_t>(size.ws_col, kLeast) : kUsual;
}

constexpr std::string_view kClearLine = "\r\033[2K";

/// Its mutex is for the formatter, which keeps the last second's text; print_line() has another one.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    print_line(std::string_view(text.data(), text.size()));
  }
  void flush_() override { std::fflush(stderr); }
};

/// Launchers number their processes in one of these.
bool is_first_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name); rank != nullptr && *rank != '\0') {
      return std::atoi(rank) == 0;
    }
  }
  return true;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    default:
      return spdlog::level::off;
  }
}

spdlog::logger& logger() {
  static auto* the_logger = [] {
    auto* made = new spdlog::logger("flexor", std::make_shared<StderrSink>());
    auto formatter =
        std::make_unique<spdlog::pattern_formatter>("%H:%M:%S %l %v", spdlog::pattern_time_type::local, "");
    made->set_formatter(std::move(formatter));
    made->set_level(is_first_rank() ? spdlog::level::info : spdlog::level::off);
    return made;
  }();
  return *the_logger;
}

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \"=\n\t") != std::string_view::npos;
}

void log_event(spdlog::level::level_enum level, std::string_view event, const std::vector<LogField>& fields) {
  if (!logger().should_log(level)) {
    return;
  }
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ' + field.key + '=';
    if (!needs_quotes(field.value)) {
      line += field.value;
      continue;
    }
    line += '"';
    for (const char c : field.value) {
      line += c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
    }
    line += '"';
  }
  logger().log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

// NOLINTBEGIN(performance-unnecessary-value-param): callers write the list in place
void log_info(std::string_view event, std::vector<LogField> fields) {
  log_event(spdlog::level::info, event, fields);
}
void log_warn(std::string_view event, std::vector<LogField> fields) {
  log_event(spdlog::level::warn, event, fields);
}
void log_debug(std::string_view event, std::vector<LogField> fields) {
  log_event(spdlog::level::debug, event, fields);
}
// NOLINTEND(performance-unnecessary-value-param)

void set_log_level(LogLevel level) {
  logger().set_level(is_first_rank() ? to_spdlog(level) : spdlog::level::off);
}

bool log_is_off() {
  return !logger().should_log(spdlog::level::warn);
}

bool stderr_is_terminal() {
  static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  return is_terminal;
}

void print_line(std::string_view line) {
  const std::lock_guard lock(terminal().mutex);
  const std::string& bar = terminal().bar;
  std::string text;
  if (!bar.empty()) {
    text += kClearLine;
  }
  text.append(line) += '\n';
  write_stderr(text + bar);
  std::fflush(stderr);
}

void show_bar(std::string_view text) {
  const std::lock_guard lock(terminal().mutex);
  if (text.empty() && terminal().bar.empty()) {
    return;
  }
  terminal().bar = text.substr(0, terminal_width() - 1);  // a wrapped bar could not be cleared
  write_stderr(std::string(kClearLine).append(terminal().bar));
  std::fflush(stderr);
}

}  // namespace flexor
