#include "base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/str_cat.h"

namespace flexor {
namespace {

constexpr int kEdit = 2, kCaseEdit = 1;  // twice the distance, so that a wrong case can cost a half

int replace_cost(char a, char b) {
  if (a == '-') a = '_';
  if (b == '-') b = '_';
  if (a == b) return 0;
  const bool same_letter = std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  return same_letter ? kCaseEdit : kEdit;
}

/// Optimal string alignment: insert, delete, replace, swap of neighbours.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    last[j] = kEdit * static_cast<int>(j);
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = kEdit * static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + kEdit, row[j - 1] + kEdit, last[j - 1] + replace_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + kEdit);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string printf_number(const char* format, int digits, double value) {
  std::array<char, 64> buffer;
  const int size = std::snprintf(buffer.data(), buffer.size(), format, digits, value);
  return std::string(buffer.data(), static_cast<size_t>(std::max(size, 0)));
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  int best_distance = std::numeric_limits<int>::max();
  for (const std::string& candidate : candidates) {
    int distance = edit_distance(name, candidate);
    const std::string_view tail = std::string_view(candidate).substr(candidate.rfind('.') + 1);
    if (tail.size() < candidate.size()) {  // the section was forgotten, or another one was given
      const std::string_view own_tail = name.substr(name.rfind('.') + 1);
      distance = std::min(distance, edit_distance(own_tail, tail) + kEdit);
    }
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  const size_t length = name.size() - (name.rfind('.') + 1);
  const int allowed = kEdit * std::max<int>(1, static_cast<int>(length) * 2 / 5 + 1);
  return best != nullptr && best_distance <= allowed ? *best : std::string();
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join_text(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? "" : separator;
    text += parts[i];
  }
  return text;
}

std::string_view trim_text(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_utf8(std::string_view text) {
  constexpr std::array<uint32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const size_t following = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
    if (following > 3 || following > text.size() - i) {
      return false;
    }
    uint32_t code = following == 0 ? first : first & (0x3Fu >> following);
    for (size_t k = 0; k < following; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if (next >> 6 != 2) {
        return false;
      }
      code = code << 6 | (next & 0x3Fu);
    }
    if (code < kSmallest[following] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return false;
    }
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  if (is_utf8(text)) {
    return std::string(text);
  }
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      result += c;
    } else {
      result += static_cast<char>(0xC0 | byte >> 6);
      result += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return result;
}

std::string printable_text(std::string_view text, size_t most) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool keeps_high = is_utf8(text);
  const auto is_inside = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u; };
  size_t end = std::min(most, text.size());
  while (keeps_high && end > 0 && end < text.size() && is_inside(end)) {
    --end;  // not within a character
  }
  std::string result;
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !keeps_high)) {
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15u]};
    } else {
      result += c;
    }
  }
  return end < text.size() ? result + "..." : result;
}

std::string human_count(double count) {
  constexpr std::array<std::string_view, 6> kSuffixes = {"", "K", "M", "B", "T", "Q"};
  for (const std::string_view suffix : kSuffixes) {
    if (std::abs(count) < 1000.0) {
      return printf_number("%.*f", 0, count) + std::string(suffix);
    }
    count /= 1000.0;
  }
  return printf_number("%.*f", 0, count);
}

std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return printf_number("%.*f", unit == 0 ? 0 : 1, bytes) + std::string(kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 60.0) {
    return printf_number("%.*f", 1, seconds) + " s";
  }
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const auto two_digits = [](int64_t n) { return str_cat(n < 10 ? "0" : "", n); };
  if (total < 3600) {
    return str_cat(total / 60, " min ", two_digits(total % 60), " s");
  }
  return str_cat(total / 3600, " h ", two_digits(total / 60 % 60), " min");
}

std::string short_number(double value, int digits) {
  return printf_number("%.*g", digits, value);
}

}  // namespace flexor
