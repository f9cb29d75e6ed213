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
/// Errors must stop a run, warnings not. Only the selected episodes are looked at. The checks themselves (row_checks.h,
/// stats_check.h, video_check.h) are those of `flexor dataset verify`, which also goes on behind what cannot be read.
std::vector<Finding> check_dataset(const Dataset& dataset, const CheckOptions& options = {});

/// The part about videos and images.
void check_pictures(const Dataset& dataset, std::vector<Finding>& findings);

}  // namespace flexor::data
