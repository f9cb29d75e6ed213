#pragma once
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace flexor {

/// The arguments as text, one after the other: str_cat("expected ", 3, ", got ", n). Floats take the shortest text that
/// an output stream gives; bools are "true" and "false".
template <typename... Args>
std::string str_cat(const Args&... args) {
  std::ostringstream out;
  const auto put = [&out](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      out << (value ? "true" : "false");
    } else {
      out << value;
    }
  };
  (put(args), ...);
  return std::move(out).str();
}

}  // namespace flexor
