// Text of JSON values: the one file that sees nlohmann's parser and string escaping.
#include <algorithm>
#include <cctype>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/float_text.h"
#include "base/json.h"
#include "base/str_cat.h"

namespace flexor {
namespace {

using Library = nlohmann::json;

constexpr std::string_view kRepairHint = "correct the text there, or copy the file again if it was cut off";
constexpr int kMaxDepth = 1000;  // Python's own limit; keeps the recursive parts of this class off the end of the stack

// JSON has no literals for these, Python has. They are handed to the library as spellings of zero that nobody writes.
constexpr std::string_view kNanStandIn = "0.0e-000000001";
constexpr std::string_view kInfinityStandIn = "0.0e-000000002";

/// Text for the library, and how to find a place of it in the original.
struct StrictText {
  std::string text;
  std::vector<std::pair<size_t, size_t>> shifts;  ///< (end of a stand-in, characters added so far)

  size_t original_offset(size_t offset) const {
    size_t added = 0;
    for (const auto& [end, total] : shifts) {
      if (offset >= end) {
        added = total;
      }
    }
    return offset - std::min(offset, added);
  }
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

StrictText replace_literals(std::string_view text) {
  StrictText out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out.text += c;
      if (c == '\\' && i + 1 < text.size()) {
        out.text += text[++i];
      }
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    const std::string_view rest = text.substr(i);
    const bool at_word = i == 0 || !is_word(text[i - 1]);
    const auto stands = [&](std::string_view word) {
      return at_word && rest.starts_with(word) && (rest.size() == word.size() || !is_word(rest[word.size()]));
    };
    const std::string_view word = stands("NaN") ? "NaN" : stands("Infinity") ? "Infinity" : "";
    if (word.empty()) {
      out.text += c;
      continue;
    }
    out.text += word == "NaN" ? kNanStandIn : kInfinityStandIn;
    i += word.size() - 1;
    out.shifts.emplace_back(out.text.size(), out.text.size() - (i + 1));
  }
  return out;
}

/// Collects the library's events into values. Deep nesting ends the parse before anything recursive meets it.
class Builder : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return put(fits ? Json(static_cast<int64_t>(value)) : Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text == kNanStandIn) {
      return put(Json(std::numeric_limits<double>::quiet_NaN()));
    }
    const std::string_view unsigned_text = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
    if (unsigned_text == kInfinityStandIn) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      return put(Json(text.starts_with('-') ? -kInfinity : kInfinity));
    }
    return put(Json(value));
  }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool key(string_t& name) override {
    open_.back().keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    drop_repeated_keys(open_.back().value.as_object());
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    offset = position == 0 ? 0 : position - 1;
    const std::string_view text = exception.what();
    const size_t colon = text.find(": ");
    problem = text.substr(colon == std::string_view::npos ? 0 : colon + 2);
    return false;
  }

  Json result;
  size_t offset = 0;
  std::string problem;

 private:
  struct Level {
    Json value;
    std::vector<std::string> keys;  ///< at most one: that of the value to come
  };

  bool put(Json value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.as_array().push_back(std::move(value));
    } else {
      level.value.as_object().emplace_back(std::move(level.keys.back()), std::move(value));
      level.keys.pop_back();
    }
    return true;
  }

  bool open(Json value) {
    open_.push_back({std::move(value), {}});
    if (open_.size() > kMaxDepth) {
      problem = str_cat("nested deeper than ", kMaxDepth, " levels");
      return false;
    }
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }

  /// As Python's dict: the first place, the last value.
  static void drop_repeated_keys(Json::Object& members) {
    std::unordered_map<std::string_view, size_t> first;
    std::vector<size_t> repeated;
    for (size_t i = 0; i < members.size(); ++i) {
      const auto [place, is_new] = first.emplace(members[i].first, i);
      if (!is_new) {
        members[place->second].second = std::move(members[i].second);
        repeated.push_back(i);
      }
    }
    for (auto i = repeated.rbegin(); i != repeated.rend(); ++i) {
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(*i));
    }
  }

  std::vector<Level> open_;
};

void append_string(std::string& out, const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
  if (plain) {
    (out += '"').append(text) += '"';
  } else {  // bytes that are no UTF-8 become U+FFFD: the result is always valid JSON
    out += Library(text).dump(-1, ' ', /*ensure_ascii=*/false, Library::error_handler_t::replace);
  }
}

void new_line(std::string& out, int indent, int level) {
  if (indent >= 0) {
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
  }
}

void append_value(std::string& out, const Json& value, int indent, int level) {
  const std::string_view comma = indent < 0 ? ", " : ",";
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_number()) {
    out += float_text(value.as_double());
  } else if (value.is_string()) {
    append_string(out, value.as_string());
  } else if (value.size() == 0) {
    out += value.is_array() ? "[]" : "{}";
  } else if (value.is_array()) {
    out += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      out += i == 0 ? "" : comma;
      new_line(out, indent, level + 1);
      append_value(out, value.as_array()[i], indent, level + 1);
    }
    new_line(out, indent, level);
    out += ']';
  } else {
    out += '{';
    for (size_t i = 0; i < value.size(); ++i) {
      out += i == 0 ? "" : comma;
      new_line(out, indent, level + 1);
      append_string(out, value.as_object()[i].first);
      out += ": ";
      append_value(out, value.as_object()[i].second, indent, level + 1);
    }
    new_line(out, indent, level);
    out += '}';
  }
}

}  // namespace

Json Json::parse(std::string_view text, const std::string& where) {
  const bool has_literals =
      text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
  const StrictText strict = has_literals ? replace_literals(text) : StrictText{};
  const std::string_view input = has_literals ? std::string_view(strict.text) : text;
  Builder builder;
  if (Library::sax_parse(input.begin(), input.end(), &builder)) {
    return std::move(builder.result);
  }
  if (builder.problem.starts_with("nested")) {
    throw Error(ErrorKind::kData, "not usable JSON: " + builder.problem, where, std::string(kRepairHint));
  }
  const size_t offset = std::min(strict.original_offset(builder.offset), text.size());
  const std::string_view before = text.substr(0, offset);
  const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t column = offset - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
  throw Error(ErrorKind::kData,
              text.empty() ? std::string("the file is empty, expected JSON") : "not valid JSON: " + builder.problem,
              str_cat(where, ":", line, ":", column, ", byte ", offset), std::string(kRepairHint));
}

Json Json::read_file(const std::string& path) {
  return parse(flexor::read_file(path), path);
}

std::string Json::dump(int indent) const {
  std::string out;
  append_value(out, *this, indent, 0);
  return out;
}

}  // namespace flexor
