#include "base/error.h"

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_errors.h"
#include "base/text.h"

namespace flexor {

// NOLINTNEXTLINE(performance-unnecessary-value-param): std::runtime_error copies; the other texts are moved
Error::Error(ErrorKind kind, std::string what, std::string where, std::string hint)
    : std::runtime_error(what), kind_(kind), where_(std::move(where)), hint_(std::move(hint)) {}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kConfig:
      return 2;
    case ErrorKind::kInterrupted:
      return 130;
    case ErrorKind::kTerminated:
      return 143;
    default:
      return 1;
  }
}

namespace {

constexpr size_t kAll = std::string::npos;

/// Of a list of problems, each has its line.
std::string printable_lines(const std::string& text) {
  std::vector<std::string> lines = split_text(text, '\n');
  for (std::string& line : lines) {
    line = printable_text(line, kAll);
  }
  return join_text(lines, "\n");
}

}  // namespace

std::string format_error(const Error& error) {
  std::string text = "error: " + printable_lines(error.what());
  if (!error.where().empty()) {
    text += " (" + printable_text(error.where(), kAll) + ")";
  }
  text += '\n';
  if (!error.hint().empty()) {
    text += "  hint: " + printable_lines(error.hint()) + '\n';
  }
  return text;
}

Error to_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) {
    return *error;
  }
  if (const auto* error = dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) {
    return file_error("the path cannot be used", error->path1().string(), error->code().value());
  }
  const std::string_view text = exception.what();
  return Error(ErrorKind::kRuntime, std::string(text.substr(0, text.find('\n'))));
}

}  // namespace flexor
