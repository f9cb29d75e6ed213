#pragma once
#include <ostream>
#include <string>

#include "config/field_table.h"

namespace flexor::place_block {

struct LabelsOptions {
  std::string root = {}, tag = {};
};
void fields(config::FieldTable& table, LabelsOptions& options);

/// What RECAP's labels make of the behaviours, which it was not told: prints a Markdown table with frames, share of
/// positive ones and mean advantage of each, over all frames and over the first five of every episode, where all
/// behaviours look alike.
/// @throws Error(kFile), Error(kData) for a dataset that `record` did not write, or without labels of that tag
void print_labels(const LabelsOptions& options, std::ostream& out);

}  // namespace flexor::place_block
