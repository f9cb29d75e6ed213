#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace flexor::data {

/// The part of one camera's video file that belongs to an episode.
struct VideoSegment {
  std::string path;             ///< empty when the camera stores images in Parquet
  double from_s = 0, to_s = 0;  ///< presentation times; to_s = 0 when the metadata does not say (one file an episode)
};

/// One episode as the metadata and the data files describe it.
struct Episode {
  int64_t episode_index = 0;
  int64_t length = 0;                ///< frames
  std::vector<std::string> tasks;    ///< distinct task texts, in no particular order
  std::string data_file;             ///< absolute path of the Parquet file that holds the rows
  int64_t first_row = 0;             ///< of this episode in data_file
  std::vector<VideoSegment> videos;  ///< one per camera of Dataset::cameras()
};

}  // namespace flexor::data
