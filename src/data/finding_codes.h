#pragma once
#include <span>
#include <string>
#include <string_view>

namespace flexor::data {

/// One kind of finding. The names are stable: scripts may depend on them.
struct FindingCode {
  std::string_view code;
  std::string_view severity;  ///< "error", "warning", or "error or warning"
  std::string_view meaning;
};

/// All codes that findings have, by topic.
std::span<const FindingCode> finding_codes();

/// The table of docs/verify.md.
std::string finding_codes_markdown();

}  // namespace flexor::data
