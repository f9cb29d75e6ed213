#include "config/field_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/choices.h"

namespace flexor::config {

FieldSpec& FieldSpec::range(double low_value, double high_value) {
  low = low_value;
  high = high_value;
  return *this;
}

FieldSpec& FieldSpec::choices(std::vector<std::string> values) {
  allowed = std::move(values);
  return *this;
}

FieldSpec& FieldSpec::required() {
  is_required = true;
  return *this;
}

FieldSpec& FieldSpec::hidden() {
  is_hidden = true;
  return *this;
}

FieldSpec& FieldSpec::short_flag(char flag_letter) {
  letter = flag_letter;
  return *this;
}

FieldSpec& FieldSpec::value_name(std::string name) {
  shown_name = std::move(name);
  return *this;
}

FieldSpec& FieldTable::add(std::string_view key, std::string_view type, std::string_view help) {
  assert(find(key) == nullptr && "one key twice in a field table");
  FieldSpec& spec = specs_.emplace_back();
  spec.key = key;
  spec.type = type;
  spec.help = help;
  return spec;
}

FieldSpec& FieldTable::custom(std::string_view key, std::string_view type, std::function<void(const Json&)> read,
                              std::function<Json()> write, std::string_view help, FieldSpec::Form form) {
  FieldSpec& spec = add(key, type, help);
  spec.form = form;
  spec.read = [read = std::move(read)](const Value& value) { read(to_json(value)); };
  spec.write = std::move(write);
  spec.default_value = spec.write();
  return spec;
}

FieldSpec& FieldTable::positional(std::string_view name, std::string& value, std::string_view help) {
  FieldSpec& spec = (*this)(name, value, help);
  spec.is_positional = true;
  spec.is_required = value.empty();
  return spec;
}

FieldSpec& FieldTable::rest(std::string_view name, std::vector<std::string>& values, std::string_view help) {
  FieldSpec& spec = (*this)(name, values, help);
  spec.is_positional = true;
  spec.is_rest = true;
  return spec;
}

void FieldTable::alias(std::string_view alias, std::string_view target) {
  aliases_.emplace_back(std::string(alias), std::string(target));
}

FieldSpec* FieldTable::find(std::string_view key) {
  const auto found = std::find_if(specs_.begin(), specs_.end(), [key](const FieldSpec& s) { return s.key == key; });
  return found == specs_.end() ? nullptr : &*found;
}

std::vector<std::string> FieldTable::all_keys(const std::string& prefix) const {
  std::vector<std::string> keys;
  for (const FieldSpec& spec : specs_) {
    const std::string key = prefix + spec.key;
    keys.push_back(key);
    if (spec.sub != nullptr) {
      const bool is_list = spec.form == FieldSpec::Form::kItems && !spec.nullable;
      const std::vector<std::string> below = spec.sub->all_keys(key + (is_list ? "[]." : "."));
      keys.insert(keys.end(), below.begin(), below.end());
    }
  }
  return keys;
}

Json FieldTable::write() const {
  Json object = Json::object();
  for (const FieldSpec& spec : specs_) {
    if (spec.form == FieldSpec::Form::kSection) {
      object[spec.key] = spec.sub->write();
    } else if (spec.form != FieldSpec::Form::kItems) {
      object[spec.key] = spec.write();
    } else if (spec.nullable) {
      object[spec.key] = spec.count() == 0 ? Json() : spec.element(0)->write();
    } else {
      Json list = Json::array();
      for (size_t i = 0; i < spec.count(); ++i) {
        list.push_back(spec.element(i)->write());
      }
      object[spec.key] = std::move(list);
    }
  }
  return object;
}

void check_choice(const std::string& text, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    const std::string near = nearest(text, allowed);
    throw Error(ErrorKind::kConfig, str_cat("expected one of ", choices_text(allowed), ", found '", text, "'"), {},
                near.empty() ? "" : "did you mean '" + near + "'?");
  }
}

namespace {

void check_value(const FieldSpec& spec, const Json& value) {
  if (value.is_array()) {
    for (const Json& element : value.as_array()) {
      check_value(spec, element);
    }
  } else if (value.is_number()) {
    const double number = value.as_double();
    const bool limited = std::isfinite(spec.low) || std::isfinite(spec.high);
    if (limited && !(number >= spec.low && number <= spec.high)) {
      const std::string low = short_number(spec.low, 12), high = short_number(spec.high, 12);
      const std::string range = !std::isfinite(spec.high)  ? "at least " + low
                                : !std::isfinite(spec.low) ? "at most " + high
                                                           : low + " to " + high;
      throw Error(ErrorKind::kConfig, str_cat("expected ", range, ", found ", value.dump()));
    }
  } else if (value.is_string() && !spec.allowed.empty()) {
    check_choice(value.as_string(), spec.allowed);
  }
}

}  // namespace

void check_rules(const FieldSpec& spec) {
  if (spec.form == FieldSpec::Form::kValue) {
    check_value(spec, spec.write());
  }
}

}  // namespace flexor::config
