#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/field_table.h"

namespace flexor::config {

/// Fills the struct behind `table` from a command's arguments: `--flag value`, `--flag=value`, `--flag` alone for
/// bools, `-o value` for a short flag, positional arguments by place; after `--` everything is positional. Dashes and
/// underscores are equal in flags. Of a flag given twice the last value counts; a list is given once. @throws
/// Error(kUsage) naming the argument, with the nearest flag
void parse_arguments(FieldTable& table, const std::vector<std::string>& arguments);

template <typename Options>
Options parse(const std::vector<std::string>& arguments) {
  Options options{};
  FieldTable table;
  fields(table, options);
  parse_arguments(table, arguments);
  return options;
}

/// The lines "usage: NAME [flags] ARGUMENTS", then one per argument and flag with its help and default.
std::string usage_text(const FieldTable& table, std::string_view command);

/// A command's row can hold this function: `.help = usage<Options>`.
template <typename Options>
std::string usage(std::string_view command) {
  Options options{};
  FieldTable table;
  fields(table, options);
  return usage_text(table, command);
}

}  // namespace flexor::config
