#include "data/jsonl.h"

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::data {

std::vector<JsonLine> read_jsonl(const std::string& path) {
  check_input_file(path);
  const std::string content = read_file(path);
  std::vector<JsonLine> lines;
  std::string_view rest = content;
  for (int64_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    const std::string_view text = trim_text(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (text.empty()) {
      continue;
    }
    const std::string where = str_cat(path, ":", line);
    Json json = Json::parse(text, where);
    if (!json.is_object()) {
      throw Error(ErrorKind::kData, str_cat("expected an object, found ", json.type_name()), where,
                  "each line holds one object: {...}");
    }
    lines.push_back({line, std::move(json)});
  }
  return lines;
}

}  // namespace flexor::data
