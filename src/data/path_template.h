#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace flexor::data {

using TemplateValue = std::variant<int64_t, std::string>;

/// Fills a path template of info.json: "{episode_index:06d}", "{video_key}". Fields are a name, optionally ":0Nd" or
/// ":d" for numbers; {{ and }} are braces.
/// @param where  the file that an error names
/// @throws Error(kData) for an unknown field, another format, or a lone brace
std::string fill_template(std::string_view path_template,
                          const std::vector<std::pair<std::string_view, TemplateValue>>& values,
                          const std::string& where);

}  // namespace flexor::data
