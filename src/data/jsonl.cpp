#include "data/jsonl.h"

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::data {
namespace {

Json parse_object(std::string_view text, const std::string& where) {
  Json json = Json::parse(to_utf8(text), where);
  if (!json.is_object()) {
    throw Error(ErrorKind::kData, str_cat("expected an object, found ", json.type_name()), where,
                "each line holds one object: {...}");
  }
  return json;
}

}  // namespace

void for_each_json_line(const std::string& path, const std::function<void(const JsonLine&)>& body,
                        const std::function<void(const Error&)>& on_error) {
  check_input_file(path);
  const std::string content = read_file(path);
  std::string_view rest = content;
  for (int64_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    const std::string_view text = trim_text(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (text.empty()) {
      continue;
    }
    const std::string where = str_cat(path, ":", line);
    try {
      body({line, parse_object(text, where)});
    } catch (const Error& error) {
      const Error placed(error.kind(), error.what(), error.where().empty() ? where : error.where(), error.hint());
      if (!on_error) {
        throw placed;
      }
      on_error(placed);
    }
  }
}

std::vector<JsonLine> read_jsonl(const std::string& path) {
  std::vector<JsonLine> lines;
  for_each_json_line(path, [&](const JsonLine& line) { lines.push_back(line); });
  return lines;
}

}  // namespace flexor::data
