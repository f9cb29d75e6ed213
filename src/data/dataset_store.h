#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/column.h"
#include "data/dataset.h"
#include "data/dataset_tasks.h"
#include "data/frame_cache_find.h"
#include "data/image_store.h"

namespace flexor::data {

/// What the copies and selections of an opened dataset share. Never changes after Dataset::open.
struct Dataset::Store {
  DatasetInfo info;
  std::vector<FeatureInfo> cameras;
  std::vector<Episode> episodes;      ///< those that were read, ascending
  int64_t total_episodes = 0;         ///< of the dataset, whether read or not
  std::vector<int64_t> first_rows;    ///< of each episode in the columns
  std::vector<double> start_times_s;  ///< timestamp of each episode's frame 0 where that is not 0
  Columns columns;
  TaskTable tasks;
  schema::NormStats stats;
  std::vector<Finding> findings;
  std::unique_ptr<ImageStore> images;
  std::unique_ptr<FrameCacheMemo> frame_caches = std::make_unique<FrameCacheMemo>();

  const Column& column(std::string_view name) const;  ///< @throws Error(kData) if it is not in memory
};

}  // namespace flexor::data
