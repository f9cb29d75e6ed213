#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "media/video_copy.h"

namespace flexor::media {

/// How a video is encoded, in the words of a dataset's info.json.
struct EncodeSettings {
  std::string codec;    ///< "h264", "av1", "hevc", "mpeg4"; empty: that of the first part
  std::string pix_fmt;  ///< empty: that of the first part
  int gop = 2;
  int crf = 30;
  bool lossless = false;  ///< for depth; h264 and hevc
};

/// Decodes parts of videos and encodes them into one mp4, frame k shown at k / fps. Pictures stay in the pixel format
/// that they were decoded in where the encoder takes it.
/// @returns frames of each part
/// @throws Error(kData) for unreadable videos, missing frames, parts of another size or rate; Error(kRuntime) without
///         an encoder; Error(kFile) on a full disk
std::vector<int64_t> reencode_parts(const std::vector<VideoPart>& parts, const std::string& path,
                                    const EncodeSettings& settings);

}  // namespace flexor::media
