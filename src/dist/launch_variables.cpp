#include "dist/launch_variables.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::dist {

std::optional<int64_t> whole_number(std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  const bool is_whole = code == std::errc() && end == last;
  return is_whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::string join_numbers(const std::vector<int64_t>& numbers, std::string_view separator) {
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const int64_t number : numbers) {
    texts.push_back(std::to_string(number));
  }
  return join_text(texts, separator);
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

int64_t parse_number(const std::string& text, const std::string& name, int64_t least, int64_t most) {
  const std::optional<int64_t> value = whole_number(text, least, most);
  if (!value) {
    const std::string range =
        most == INT32_MAX ? str_cat("of at least ", least) : str_cat("from ", least, " to ", most);
    throw Error(ErrorKind::kConfig, str_cat("expected a whole number ", range, ", found '", printable_text(text), "'"),
                str_cat("environment variable ", name));
  }
  return *value;
}

int64_t Variables::number(const std::string& name, int64_t fallback, int64_t least, int64_t most) const {
  const auto found = env_(name);
  return found ? parse_number(*found, name, least, most) : fallback;
}

void Variables::refuse_missing(const std::string& missing, const std::string& present) const {
  throw Error(ErrorKind::kConfig, str_cat("expected a number, since ", present, " is ", text(present), "; found none"),
              str_cat("environment variable ", missing),
              str_cat("a launcher sets both; unset ", present, " to run a single process"));
}

}  // namespace flexor::dist
