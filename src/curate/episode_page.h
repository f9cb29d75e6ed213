#pragma once
#include <cstdint>
#include <string>

namespace flexor::curate {

struct EpisodePageOptions {
  std::string root;           ///< folder that holds meta/info.json
  int64_t episode = 0;        ///< episode_index
  int64_t num_pictures = 24;  ///< of the strip of each camera
  bool with_video = false;    ///< the videos too, to play and to step through frame by frame
};

/// One episode of a dataset as one HTML page that opens without a network: a strip of frames per camera, curves of
/// state, action and other features with the bands of the dataset's statistics, and the task texts over time. A cursor
/// runs through all of them (script in the page); without script, or on paper, everything but the cursor is there.
/// @throws as data::Dataset::open; Error(kConfig) for an unknown episode
std::string episode_page(const EpisodePageOptions& options);

}  // namespace flexor::curate
