#pragma once
#include <string>
#include <vector>

namespace flexor::config {

/// Allowed values for people: "'', bf16, fp32"; the empty text as two quotes.
std::string choices_text(std::vector<std::string> choices);

}  // namespace flexor::config
