#include "config/overlay.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/yaml_read.h"

namespace flexor::config {
namespace {

const FieldSpec* find_spec(const FieldTable* table, std::string_view key) {
  return table == nullptr ? nullptr : const_cast<FieldTable*>(table)->find(key);
}

/// The map at `node`, made when nothing is there; null if something else is.
Value* as_map(Value& node, const std::string& place) {
  if (node.is_null()) {
    node = Value::map(place);
  }
  return node.is_map() ? &node : nullptr;
}

Value& member_of(Value& map, const std::string& key, const std::string& place) {
  if (Value* found = map.find(key)) {
    return *found;
  }
  map.members.push_back({key, Value::null(place)});
  return map.members.back().value;
}

Value* element_of(Value& node, const std::string& index) {
  const bool is_number =
      !index.empty() && std::all_of(index.begin(), index.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  constexpr size_t kMaxDigits = 6;
  if (!node.is_list() || !is_number || index.size() > kMaxDigits) {
    return nullptr;
  }
  const size_t i = std::stoul(index);
  return i < node.items.size() ? &node.items[i] : nullptr;
}

/// The place in the tree that `parts` names, made on the way; null if something in between is no map.
/// `spec` becomes the field at that place, null if unknown.
Value* make_path(Value& root, const std::vector<std::string>& parts, const FieldTable& table, const std::string& place,
                 const FieldSpec*& spec) {
  Value* node = &root;
  const FieldTable* below = &table;
  spec = nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (Value* element = element_of(*node, parts[i])) {
      node = element;
      continue;
    }
    if (as_map(*node, place) == nullptr) {
      return nullptr;
    }
    if (spec != nullptr && spec->form == FieldSpec::Form::kMap) {
      const std::vector<std::string> rest(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.end());
      return &member_of(*node, join_text(rest, "."), place);
    }
    spec = find_spec(below, parts[i]);
    below = spec == nullptr ? nullptr : spec->sub.get();
    node = &member_of(*node, parts[i], place);
  }
  return node;
}

bool takes_text(const FieldSpec* spec) {
  return spec != nullptr && spec->type.starts_with("text");
}

Value read_argument(const std::string& text, const FieldSpec* spec, const std::string& place) {
  if (takes_text(spec) && !text.starts_with('"') && !text.starts_with('\'')) {
    const bool is_null = text.empty() || text == "null" || text == "~";
    return is_null ? Value::null(place) : Value::scalar(text, place);  // as typed: "a: b # c" is no map
  }
  return parse_argument(text, place);
}

/// Removes the value at a path, and the maps above it that only it was in.
void remove_path(Value& root, const std::vector<std::string>& parts, size_t first) {
  const auto found = std::find_if(root.members.begin(), root.members.end(),
                                  [&](const Value::Member& member) { return member.key == parts[first]; });
  if (found == root.members.end()) {
    return;
  }
  if (first + 1 < parts.size()) {
    remove_path(found->value, parts, first + 1);
  }
  if (first + 1 == parts.size() || found->value.members.empty()) {
    root.members.erase(found);
  }
}

bool is_own_key(FieldTable& table, const std::string& key) {
  const std::vector<std::string> keys = table.all_keys();
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

void overlay(Value& base, Value over, const FieldTable& table) {
  if (!base.is_map() || !over.is_map()) {
    if (!over.is_null() || !base.is_map()) {
      base = std::move(over);
    }
    return;
  }
  for (auto& [key, value] : over.members) {
    const FieldSpec* spec = find_spec(&table, key);
    Value* below = base.find(key);
    const bool is_section = spec != nullptr && spec->sub != nullptr && value.is_map();
    if (below != nullptr && is_section) {
      overlay(*below, std::move(value), *spec->sub);
    } else if (below != nullptr) {
      *below = std::move(value);
    } else {
      base.members.push_back({key, std::move(value)});
    }
  }
}

void apply_override(Value& root, const std::string& argument, FieldTable& table, std::vector<Finding>& findings) {
  const std::string place = "command line";
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    findings.push_back({"", str_cat("expected key=value, found '", argument, "'"), place, ""});
    return;
  }
  const std::string key = argument.substr(0, equals);
  try {
    const FieldSpec* spec = nullptr;
    Value* node = make_path(root, split_text(key, '.'), table, place, spec);
    if (node == nullptr) {
      findings.push_back({key, str_cat("'", key, "' names a key below a value that is no section"), place, ""});
      return;
    }
    *node = read_argument(argument.substr(equals + 1), spec, place);
    node->place = place;
  } catch (const Error& error) {
    findings.push_back({key, error.what(), str_cat(place, ", ", key), error.hint()});
  }
}

const Value* find_path(const Value& root, const std::string& key) {
  const Value* node = &root;
  for (const std::string& part : split_text(key, '.')) {
    node = node == nullptr ? nullptr : node->find(part);
  }
  return node;
}

void resolve_aliases(Value& root, FieldTable& table, std::vector<Finding>& findings) {
  for (const auto& [alias, target] : table.aliases()) {
    const Value* given = find_path(root, alias);
    if (given == nullptr) {
      continue;
    }
    if (const Value* other = find_path(root, target)) {
      if (to_json(*given) != to_json(*other)) {
        findings.push_back(
            {target,
             str_cat("'", alias, "' is ", shown(*given), " but '", target, "', another name of it, is ", shown(*other)),
             str_cat(given->place, " and ", other->place), "give one of the two"});
      }
    } else {
      const Value copy = *given;
      const FieldSpec* spec = nullptr;
      if (Value* node = make_path(root, split_text(target, '.'), table, copy.place, spec)) {
        *node = copy;
      }
    }
    if (!is_own_key(table, alias)) {
      remove_path(root, split_text(alias, '.'), 0);
    }
  }
}

}  // namespace flexor::config
