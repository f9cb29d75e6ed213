#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace flexor::data {

struct JsonLine {
  int64_t line = 0;  ///< from 1
  Json json;         ///< an object
};

/// The objects of a JSON-lines file. Blank lines, CRLF and a missing final newline are accepted.
/// @throws Error(kFile), Error(kData) with file:line
std::vector<JsonLine> read_jsonl(const std::string& path);

}  // namespace flexor::data
