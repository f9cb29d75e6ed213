#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.h"
#include "config/value.h"

namespace flexor::config {

/// One YAML document as values with their places ("FILE:LINE"). A key that stands twice in a map goes to `findings`.
/// @throws Error(kConfig) with file:line for a syntax error, several documents, or keys that are no plain text
Value parse_yaml(std::string_view text, const std::string& file, std::vector<Finding>& findings);

/// The value of `key=VALUE` on a command line, read as YAML. @throws Error(kConfig)
Value parse_argument(const std::string& text, const std::string& place);

}  // namespace flexor::config
