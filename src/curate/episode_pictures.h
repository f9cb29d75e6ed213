#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/shots.h"

namespace flexor::curate {

/// `count` evenly spaced frames of the first episode of `dataset`, its first and last ones among them, as small JPEG
/// pictures. @param camera  index into dataset.cameras()
std::vector<data::Shot> strip_of(const data::Dataset& dataset, int64_t camera, int64_t count);

/// The video of the first episode of `dataset` that a browser plays: the recorded file itself where it holds this
/// episode alone and is H.264 or AV1, else encoded again as H.264.
struct EpisodeVideo {
  std::vector<uint8_t> mp4;
  bool is_recorded = false;  ///< the file as it is
};
/// @throws Error(kFile), Error(kData) if a picture cannot be read; Error(kRuntime) if this FFmpeg has no H.264 encoder
EpisodeVideo video_of(const data::Dataset& dataset, int64_t camera);

}  // namespace flexor::curate
