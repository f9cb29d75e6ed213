#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "media/video_reader.h"

namespace flexor::media {

/// What a container says about every picture of its video stream; nothing is decoded. Of an mp4 only the index is read,
/// of other containers all packets.
struct VideoIndex {
  VideoInfo info;
  std::vector<int64_t> pts;  ///< ascending presentation times, ticks of info.time_base
  std::vector<bool> is_key;  ///< of the picture at the same place
};

/// @throws Error(kFile), Error(kData) as VideoReader::open: missing, cut short, no video, no decoder for the codec
VideoIndex read_video_index(const std::string& path);

}  // namespace flexor::media
