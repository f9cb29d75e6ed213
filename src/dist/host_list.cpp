#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/launch_env.h"
#include "dist/launch_variables.h"

namespace flexor::dist {
namespace {

constexpr int64_t kMostHosts = 1'000'000;

[[noreturn]] void refuse_list(std::string_view list, const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kConfig, str_cat(what, " in the host list '", printable_text(list), "'"), where);
}

/// Splits at the commas that stand outside of brackets.
std::vector<std::string> entries_of(std::string_view list, const std::string& where) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) {
      refuse_list(list, where, "brackets do not match");
    }
    if (c == ',' && depth == 0) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  if (depth != 0) {
    refuse_list(list, where, "brackets do not match");
  }
  return list.empty() ? std::vector<std::string>() : entries;
}

/// "07-09,11" -> 07, 08, 09, 11
std::vector<std::string> numbers_of(const std::string& ranges, std::string_view list, const std::string& where) {
  std::vector<std::string> numbers;
  for (const std::string& range : split_text(ranges, ',')) {
    const size_t dash = range.find('-');
    const std::string first = range.substr(0, dash), last = dash == std::string::npos ? first : range.substr(dash + 1);
    const auto is_digits = [](const std::string& text) {
      constexpr size_t kMostDigits = 9;
      return !text.empty() && text.size() <= kMostDigits &&
             std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (!is_digits(first) || !is_digits(last) || std::stoll(last) < std::stoll(first) ||
        std::stoll(last) - std::stoll(first) >= kMostHosts) {
      refuse_list(list, where, str_cat("expected numbers or ranges, found '", printable_text(range), "'"));
    }
    for (int64_t i = std::stoll(first); i <= std::stoll(last); ++i) {
      const std::string digits = std::to_string(i);
      numbers.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') + digits);
    }
  }
  return numbers;
}

void expand(const std::string& prefix, const std::string& rest, std::string_view list, const std::string& where,
            std::vector<std::string>& hosts) {
  const size_t open = rest.find('[');
  if (open == std::string::npos) {
    hosts.push_back(prefix + rest);
    if (!is_host(hosts.back())) {
      refuse_list(list, where, str_cat("expected the name of a host, found '", printable_text(hosts.back()), "'"));
    }
    return;
  }
  const size_t close = rest.find(']', open);
  for (const std::string& number : numbers_of(rest.substr(open + 1, close - open - 1), list, where)) {
    expand(prefix + rest.substr(0, open) + number, rest.substr(close + 1), list, where, hosts);
    if (static_cast<int64_t>(hosts.size()) > kMostHosts) {
      refuse_list(list, where, "too many hosts");
    }
  }
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list, const std::string& where) {
  std::vector<std::string> hosts;
  for (const std::string& entry : entries_of(list, where)) {
    expand({}, entry, list, where, hosts);
  }
  return hosts;
}

std::vector<int64_t> expand_task_counts(const std::string& list, const std::string& where, int64_t most) {
  std::vector<int64_t> tasks;
  for (const std::string& part : split_text(list, ',')) {
    const size_t open = part.find("(x");
    const bool repeats = open != std::string::npos && part.ends_with(")");
    const auto count = whole_number(std::string_view(part).substr(0, open), 1, most);
    const auto times = repeats ? whole_number(std::string_view(part).substr(open + 2, part.size() - open - 3), 1, most)
                               : std::optional<int64_t>(open == std::string::npos ? 1 : 0);
    if (!count || !times || *times == 0) {
      throw Error(ErrorKind::kConfig, str_cat("expected tasks of nodes as 8(x2),4, found '", printable_text(list), "'"),
                  where);
    }
    tasks.insert(tasks.end(), static_cast<size_t>(*times), *count);
  }
  return tasks;
}

}  // namespace flexor::dist
