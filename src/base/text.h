#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flexor {

/// The candidate with the smallest edit distance to `name` (dashes and underscores count as equal, case by half), or ""
/// if none is near enough to be a typing error. Of dotted names, a candidate that ends in `name` counts as near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// Parts between separators, empty ones included: "a,,b" -> "a", "", "b"; "" -> "".
std::vector<std::string> split_text(std::string_view text, char separator);
std::string join_text(const std::vector<std::string>& parts, std::string_view separator);
/// Without spaces, tabs and line ends at both ends.
std::string_view trim_text(std::string_view text);

/// True if `text` is UTF-8: no cut or overlong sequence, no surrogate, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);
/// The text itself if it is UTF-8, else its bytes taken as Latin-1.
std::string to_utf8(std::string_view text);
/// For messages: control characters, and bytes that are no UTF-8, as \xNN; what exceeds `most` bytes is cut off.
std::string printable_text(std::string_view text, size_t most = 200);

/// LeRobot's short count: divided by 1000 while that is at least 1000 rounded up to no decimals: 999 -> "999",
/// 1234 -> "1K", 2500000 -> "2M" (halves to even).
std::string human_count(double count);
/// "512 B", "1.5 KiB", "3.2 GiB".
std::string human_bytes(double bytes);
/// "8.3 s", "4 min 05 s", "2 h 07 min".
std::string human_seconds(double seconds);
/// A number with `digits` significant digits, without trailing zeros: 0.00012345, 3 -> "0.000123".
std::string short_number(double value, int digits = 4);

}  // namespace flexor
