#include "config/print.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/str_cat.h"
#include "base/text.h"
#include "config/choices.h"

namespace flexor::config {
namespace {

/// Text that no YAML reader, of version 1.1 or 1.2, takes for anything but text.
bool is_plain(const std::string& text) {
  static const std::set<std::string> kReserved = {"true", "false", "null", "yes", "no", "on",
                                                  "off",  "y",     "n",    "nan", "inf"};
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '/' && text[0] != '_')) {
    return false;
  }
  const bool safe = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/' || c == '+';
  });
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return safe && kReserved.find(lower) == kReserved.end();
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) {
    return is_plain(value.as_string()) ? value.as_string() : value.dump();
  }
  if (value.is_number() && !value.is_int()) {
    const double number = value.as_double();
    if (!std::isfinite(number)) {
      return std::isnan(number) ? ".nan" : number < 0 ? "-.inf" : ".inf";
    }
    std::string text = value.dump();
    if (const size_t mark = text.find('e'); mark != std::string::npos && text.find('.') == std::string::npos) {
      text.insert(mark, ".0");  // Python's YAML takes 1e-05 for text
    }
    return text;
  }
  return value.dump();
}

bool is_scalar(const Json& value) {
  return !value.is_array() && !value.is_object();
}

std::string flow_text(const Json& value) {
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const Json& element : value.as_array()) {
      parts.push_back(flow_text(element));
    }
    return "[" + join_text(parts, ", ") + "]";
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      parts.push_back(scalar_text(Json(key)) + ": " + flow_text(member));
    }
    return "{" + join_text(parts, ", ") + "}";
  }
  return scalar_text(value);
}

bool fits_in_line(const Json& value) {
  if (is_scalar(value) || value.size() == 0) {
    return true;
  }
  return value.is_array() && std::none_of(value.as_array().begin(), value.as_array().end(),
                                          [](const Json& element) { return element.is_object(); });
}

void append_block(std::string& out, const Json& value, const std::string& indent) {
  if (value.is_object() && value.size() > 0) {
    for (const auto& [key, member] : value.as_object()) {
      out += indent + scalar_text(Json(key)) + ":";
      if (fits_in_line(member)) {
        out += " " + flow_text(member) + "\n";
      } else {
        out += "\n";
        append_block(out, member, indent + "  ");
      }
    }
  } else if (!fits_in_line(value)) {
    for (const Json& element : value.as_array()) {
      out += indent + "- " + flow_text(element) + "\n";
    }
  } else {
    out += indent + flow_text(value) + "\n";
  }
}

std::string rule_of(const FieldSpec& spec) {
  if (spec.is_required) {
    return "required";
  }
  if (!spec.allowed.empty()) {
    return "one of " + choices_text(spec.allowed);
  }
  const bool has_low = std::isfinite(spec.low), has_high = std::isfinite(spec.high);
  if (has_low && has_high) {
    return short_number(spec.low, 12) + " to " + short_number(spec.high, 12);
  }
  return has_low ? "at least " + short_number(spec.low, 12) : has_high ? "at most " + short_number(spec.high, 12) : "";
}

void append_docs(const FieldTable& table, const std::string& prefix, std::vector<FieldDoc>& docs) {
  for (const FieldSpec& spec : table.specs()) {
    if (spec.is_hidden) {
      continue;
    }
    const std::string key = prefix + spec.key;
    if (spec.form == FieldSpec::Form::kSection) {
      append_docs(*spec.sub, key + ".", docs);
    } else if (spec.form == FieldSpec::Form::kItems) {
      docs.push_back({key, spec.type, spec.nullable ? "null" : "[]", spec.help, rule_of(spec)});
      append_docs(*spec.sub, key + (spec.nullable ? "." : "[]."), docs);
    } else {
      docs.push_back({key, spec.type, flow_text(spec.default_value), spec.help, rule_of(spec)});
    }
  }
}

void append_flat(const FieldTable& table, const std::string& prefix, FlatConfig& flat) {
  for (const FieldSpec& spec : table.specs()) {
    const std::string key = prefix + spec.key;
    if (spec.form == FieldSpec::Form::kSection) {
      append_flat(*spec.sub, key + ".", flat);
    } else if (spec.form == FieldSpec::Form::kItems) {
      Json items = Json::array();
      for (size_t i = 0; i < spec.count(); ++i) {
        items.push_back(spec.element(i)->write());
      }
      flat.emplace_back(
          key, spec.nullable ? (items.size() == 0 ? "null" : flow_text(items.as_array()[0])) : flow_text(items));
    } else {
      flat.emplace_back(key, flow_text(spec.write()));
    }
  }
}

std::string escape_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string to_yaml(const Json& value) {
  std::string out;
  append_block(out, value, "");
  return out;
}

FlatConfig flatten(const FieldTable& table) {
  FlatConfig flat;
  append_flat(table, "", flat);
  return flat;
}

std::vector<Difference> differences(const FlatConfig& before, const FlatConfig& after) {
  const auto value_of = [](const FlatConfig& flat, const std::string& key) {
    const auto found = std::find_if(flat.begin(), flat.end(), [&](const auto& entry) { return entry.first == key; });
    return found == flat.end() ? std::string() : found->second;
  };
  std::vector<Difference> result;
  for (const auto& [key, text] : before) {
    if (const std::string other = value_of(after, key); other != text) {
      result.push_back({key, text, other});
    }
  }
  for (const auto& [key, text] : after) {
    if (value_of(before, key).empty() && !text.empty()) {
      result.push_back({key, "", text});
    }
  }
  return result;
}

std::vector<FieldDoc> describe(const FieldTable& table) {
  std::vector<FieldDoc> docs;
  append_docs(table, "", docs);
  return docs;
}

std::string to_markdown(const std::vector<FieldDoc>& docs) {
  std::string out = "| key | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const FieldDoc& doc : docs) {
    const std::string meaning = doc.rule.empty() ? doc.help : doc.help + " (" + doc.rule + ")";
    out += str_cat("| `", doc.key, "` | ", doc.type, " | `", escape_cell(doc.default_text), "` | ",
                   escape_cell(meaning), " |\n");
  }
  return out;
}

std::string to_text(const std::vector<FieldDoc>& docs) {
  std::string out;
  for (const FieldDoc& doc : docs) {
    out += str_cat(doc.key, "  (", doc.type, ", default ", doc.default_text, ")\n      ", doc.help,
                   doc.rule.empty() ? "" : "; " + doc.rule, "\n");
  }
  return out;
}

}  // namespace flexor::config
