#pragma once
#include <vector>

#include "data/dataset_info.h"
#include "data/episode_records.h"
#include "data/finding.h"

namespace flexor::data {

/// What it means that no episode has a video of `camera`: a warning, since a recording may list cameras that it has
/// not; an error when videos lie below videos/ that belong to no camera, since then info.json leads past them.
Finding camera_without_files(const DatasetInfo& info, const FeatureInfo& camera,
                             const std::vector<EpisodeRecord>& records);

}  // namespace flexor::data
