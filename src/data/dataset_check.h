#pragma once
#include <vector>

#include "data/dataset.h"
#include "data/finding.h"

namespace flexor::data {

struct CheckOptions {
  bool videos = true;  ///< open every video file and compare its stream with what the tables need
};

/// Everything about an opened dataset that a training run relies on: what Dataset::open found, rows (numbering,
/// timestamps, tasks, NaN), stored statistics against the columns, videos (whole, long enough, right fps and size).
/// Errors must stop a run, warnings not. Only the selected episodes are looked at.
std::vector<Finding> check_dataset(const Dataset& dataset, const CheckOptions& options = {});

// The parts of the above.
void check_rows(const Dataset& dataset, std::vector<Finding>& findings);
void check_values(const Dataset& dataset, std::vector<Finding>& findings);
void check_stats(const Dataset& dataset, std::vector<Finding>& findings);
void check_videos(const Dataset& dataset, std::vector<Finding>& findings);

}  // namespace flexor::data
