#pragma once
#include <cstdint>
#include <vector>

#include "media/av_handle.h"
#include "media/picture.h"

namespace flexor::media {

/// A decoded frame of any pixel format to 8-bit RGB of the same size, through libswscale with its default flags: the
/// bytes that PyAV, torchcodec and the ffmpeg program give. Colour tags of the frame (matrix, range) are honoured;
/// untagged YUV is BT.601, limited range. Keeps its context and scratch memory; not thread-safe.
class RgbConverter {
 public:
  /// @throws Error(kData) for a pixel format that libswscale does not read
  void convert(const AVFrame& frame, Picture& out);

 private:
  AvPtr<SwsContext> context_;
  int width_ = 0, height_ = 0, format_ = -1, colorspace_ = -1, range_ = -1;
  std::vector<uint8_t> scratch_;  ///< rows padded for the SIMD code, when `out`'s rows are not wide enough

  void prepare(const AVFrame& frame);
};

}  // namespace flexor::media
