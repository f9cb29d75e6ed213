#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flexor::report {

/// Bytes as text of A-Z, a-z, 0-9, + and /, padded with = (RFC 4648).
std::string base64(std::span<const uint8_t> bytes);

/// "data:image/jpeg;base64,...", to put a file into a page.
std::string data_uri(std::string_view mime_type, std::span<const uint8_t> bytes);

}  // namespace flexor::report
