#include "base/float_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace flexor {
namespace {

/// A positive finite number as d.ddd * 10^exponent.
struct Decimal {
  std::string digits;  ///< shortest that reads back equal
  int exponent = 0;
};

Decimal decimal_of(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));  // "d.ddde-dd"
  const size_t mark = text.find('e');
  const std::string_view power = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
  Decimal decimal{std::string(1, text[0]), 0};
  if (mark > 2) {
    decimal.digits += text.substr(2, mark - 2);
  }
  std::from_chars(power.data(), power.data() + power.size(), decimal.exponent);
  return decimal;
}

std::string zeros(int count) {
  return std::string(static_cast<size_t>(count), '0');
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) {
    return sign + "Infinity";
  }
  const auto [digits, exponent] = decimal_of(std::abs(value));
  const int count = static_cast<int>(digits.size());
  constexpr int kLeastPlain = -4, kMostPlain = 15;  // Python's limits
  if (exponent < kLeastPlain || exponent > kMostPlain) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    const std::string power = std::to_string(std::abs(exponent));
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) {
    return sign + "0." + zeros(-exponent - 1) + digits;
  }
  if (count <= exponent + 1) {
    return sign + digits + zeros(exponent + 1 - count) + ".0";
  }
  const auto point = static_cast<size_t>(exponent) + 1;
  return sign + digits.substr(0, point) + "." + digits.substr(point);
}

}  // namespace flexor
