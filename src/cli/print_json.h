#pragma once
#include <iosfwd>

#include "base/json.h"

namespace flexor::cli {

/// Prints the result of --json and a line end. What is not finite becomes null: NaN and Infinity are no JSON for most
/// readers.
/// @param indent  as in Json::dump()
void print_json(std::ostream& out, const Json& json, int indent = -1);

}  // namespace flexor::cli
