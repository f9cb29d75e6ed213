#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

/// Environment variables as numbers; what is wrong with one is an Error(kConfig) that names it.
class Variables {
 public:
  explicit Variables(Env env) : env_(std::move(env)) {}

  bool has(const std::string& name) const { return env_(name).has_value(); }
  std::string text(const std::string& name) const { return env_(name).value_or(std::string()); }
  /// @param fallback  for one that is not set  @param least, most  what is accepted
  int64_t number(const std::string& name, int64_t fallback, int64_t least, int64_t most = INT32_MAX) const;
  /// @throws Error(kConfig): `present` is set, so `missing` must be
  [[noreturn]] void refuse_missing(const std::string& missing, const std::string& present) const;

 private:
  Env env_;
};

/// The number that all of the text is; nothing for other text or one out of range.
std::optional<int64_t> whole_number(std::string_view text, int64_t least, int64_t most);

/// "8,4"
std::string join_numbers(const std::vector<int64_t>& numbers, std::string_view separator);

/// Letters, digits and what else stands in names and addresses of hosts, and nothing else.
bool is_host(std::string_view text);

/// @param name  of the variable that holds `text`  @throws Error(kConfig)
int64_t parse_number(const std::string& text, const std::string& name, int64_t least, int64_t most = INT32_MAX);

}  // namespace flexor::dist
