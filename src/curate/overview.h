#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/episode_records.h"
#include "data/finding.h"
#include "media/video_reader.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// A camera that has pictures, and what its first file is.
struct CameraOverview {
  std::string name;
  std::optional<media::VideoInfo> video;  ///< nothing for images in Parquet, or when the file cannot be opened
};

/// What the metadata of a dataset say. Tables are not opened, so that it takes no time however large they are.
struct DatasetOverview {
  data::DatasetInfo info;
  std::vector<data::EpisodeRecord> episodes;
  std::vector<CameraOverview> cameras;
  schema::NormStats stats;              ///< as stored; empty if the dataset has none
  std::vector<data::Finding> findings;  ///< oddities of the metadata
  int64_t frames = 0;
  uint64_t bytes = 0;  ///< of all files below the folder

  double seconds() const { return static_cast<double>(frames) / info.fps.value(); }
  std::map<std::string, int64_t> task_counts() const;  ///< episodes per task; one of several tasks counts for each
};

/// @throws Error(kFile), Error(kData)
DatasetOverview read_overview(const std::string& root);

}  // namespace flexor::curate
