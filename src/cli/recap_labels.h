#pragma once
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/labels.h"

namespace flexor::cli {

/// What a labelling command shows.
struct LabelView {
  double threshold = 0;
  std::map<std::string, double> by_task = {};
  std::vector<recap::LabelReport> reports = {};
  Json more = {};  ///< further members of the JSON object
};

/// A table, or one JSON object.
void print_labels(std::ostream& out, const LabelView& view, bool json);

}  // namespace flexor::cli
