#pragma once
#include <string>
#include <vector>

#include "config/field_table.h"
#include "config/finding.h"
#include "config/value.h"

namespace flexor::config {

/// Lays `over` upon `base`: maps of sections key by key, everything else (lists and free maps too) as a whole.
void overlay(Value& base, Value over, const FieldTable& table);

/// Puts "key=value" into the tree, making the maps on the way. Below a free map the rest of the key is one key, dots
/// included; a number names an element of a list that is there. Problems go to `findings`.
void apply_override(Value& root, const std::string& argument, FieldTable& table, std::vector<Finding>& findings);

/// The value at a dotted key, null if absent.
const Value* find_path(const Value& root, const std::string& key);

/// Moves the values of aliases to their targets. Problems go to `findings`.
void resolve_aliases(Value& root, FieldTable& table, std::vector<Finding>& findings);

}  // namespace flexor::config
