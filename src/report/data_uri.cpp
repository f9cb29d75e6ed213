#include "report/data_uri.h"

#include "base/str_cat.h"

namespace flexor::report {

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr uint32_t kMask = 63;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    uint32_t group = static_cast<uint32_t>(bytes[i]) << 16U;
    group |= count > 1 ? static_cast<uint32_t>(bytes[i + 1]) << 8U : 0U;
    group |= count > 2 ? static_cast<uint32_t>(bytes[i + 2]) : 0U;
    text += kAlphabet[group >> 18U];
    text += kAlphabet[(group >> 12U) & kMask];
    text += count > 1 ? kAlphabet[(group >> 6U) & kMask] : '=';
    text += count > 2 ? kAlphabet[group & kMask] : '=';
  }
  return text;
}

std::string data_uri(std::string_view mime_type, std::span<const uint8_t> bytes) {
  return str_cat("data:", mime_type, ";base64,", base64(bytes));
}

}  // namespace flexor::report
