#include "data/path_template.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::data {
namespace {

struct Filler {
  std::string_view text;
  const std::vector<std::pair<std::string_view, TemplateValue>>& values;
  const std::string& where;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kData, str_cat(what, " in path template \"", text, "\""), where);
  }

  std::string padded(int64_t number, std::string_view format) const {
    std::string digits = std::to_string(number);
    if (format.empty() || format == "d") {
      return digits;
    }
    const bool is_width =
        format.size() >= 2 && format.back() == 'd' &&
        std::all_of(format.begin(), format.end() - 1, [](unsigned char c) { return std::isdigit(c); });
    if (!is_width || format.size() > 4) {
      fail(str_cat("format \":", format, "\" (known: \":0Nd\", \":d\")"));
    }
    const auto width = static_cast<size_t>(std::stoi(std::string(format)));
    const char fill = format.front() == '0' ? '0' : ' ';
    return digits.size() < width ? std::string(width - digits.size(), fill) + digits : digits;
  }

  std::string field(std::string_view inside) const {
    const size_t colon = inside.find(':');
    const std::string_view name = inside.substr(0, colon);
    const std::string_view format = colon == std::string_view::npos ? "" : inside.substr(colon + 1);
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
    if (found == values.end()) {
      std::string known;
      for (const auto& value : values) {
        known += str_cat(known.empty() ? "" : ", ", value.first);
      }
      fail(str_cat("unknown field {", name, "} (known: ", known, ")"));
    }
    if (const auto* number = std::get_if<int64_t>(&found->second)) {
      return padded(*number, format);
    }
    return std::get<std::string>(found->second);
  }
};

}  // namespace

std::string fill_template(std::string_view path_template,
                          const std::vector<std::pair<std::string_view, TemplateValue>>& values,
                          const std::string& where) {
  const Filler filler{path_template, values, where};
  std::string result;
  for (size_t i = 0; i < path_template.size(); ++i) {
    const char c = path_template[i];
    if (c != '{' && c != '}') {
      result += c;
    } else if (i + 1 < path_template.size() && path_template[i + 1] == c) {
      result += c;
      ++i;
    } else {
      const size_t end = path_template.find('}', i);
      if (c == '}' || end == std::string_view::npos) {
        filler.fail(str_cat("lone brace at character ", i));
      }
      result += filler.field(path_template.substr(i + 1, end - i - 1));
      i = end;
    }
  }
  return result;
}

}  // namespace flexor::data
