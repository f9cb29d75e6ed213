#include "base/error.h"

#include <filesystem>
#include <string_view>
#include <utility>

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

/// What a terminal shows as it is: UTF-8 on lines; other control characters as \x1b.
std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  for (const char c : to_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      result.append("\\x").append({kHex[byte >> 4], kHex[byte & 15]});
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string format_error(const Error& error) {
  std::string text = "error: ";
  text += error.what();
  if (!error.where().empty()) {
    text += " (" + error.where() + ")";
  }
  text += '\n';
  if (!error.hint().empty()) {
    text += "  hint: " + error.hint() + '\n';
  }
  return printable(text);
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
