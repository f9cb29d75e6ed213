#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/field_table.h"

namespace flexor::config {

/// YAML text of a JSON value in block style; lists of plain values stand in one line. Loading it gives the value again.
std::string to_yaml(const Json& value);

/// The resolved configuration: YAML of all fields; loading it gives an equal struct.
template <typename S>
std::string print(const S& config) {
  S copy = config;  // the table points into a struct that it may write to
  FieldTable table;
  fields(table, copy);
  return to_yaml(table.write());
}

using FlatConfig = std::vector<std::pair<std::string, std::string>>;

/// (dotted key, value as text) of every field, in the order of the table: what two runs are compared by. Lists of
/// sections count as one value.
FlatConfig flatten(const FieldTable& table);

template <typename S>
FlatConfig flatten(const S& config) {
  S copy = config;
  FieldTable table;
  fields(table, copy);
  return flatten(static_cast<const FieldTable&>(table));
}

struct Difference {
  std::string key, before, after;  ///< "" where one side lacks the key
};
std::vector<Difference> differences(const FlatConfig& before, const FlatConfig& after);

/// One line of a manual.
struct FieldDoc {
  std::string key, type, default_text, help;
  std::string rule;  ///< "0 to 1", "one of a, b", "required"; may be empty
};
std::vector<FieldDoc> describe(const FieldTable& table);

template <typename S>
std::vector<FieldDoc> describe_config() {
  S config{};
  FieldTable table;
  fields(table, config);
  return describe(static_cast<const FieldTable&>(table));
}

/// A Markdown table (docs/config.md), and lines for a terminal (`flexor help config`).
std::string to_markdown(const std::vector<FieldDoc>& docs);
std::string to_text(const std::vector<FieldDoc>& docs);

}  // namespace flexor::config
