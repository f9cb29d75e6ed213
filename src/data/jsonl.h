#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace flexor::data {

struct JsonLine {
  int64_t line = 0;  ///< from 1
  Json json;         ///< an object
};

/// Calls body with each object of a JSON-lines file. Blank lines, CRLF and a missing final newline are accepted; a line
/// that is not UTF-8 is taken as Latin-1.
/// @param on_error  gets what is wrong with a line, from the parser or from `body`, and the next line follows; without
///                  it the error is thrown
/// @throws Error(kFile), Error(kData) with file:line
void for_each_json_line(const std::string& path, const std::function<void(const JsonLine&)>& body,
                        const std::function<void(const Error&)>& on_error = {});

/// All of them.
std::vector<JsonLine> read_jsonl(const std::string& path);

}  // namespace flexor::data
