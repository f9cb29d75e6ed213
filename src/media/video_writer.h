#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "media/picture.h"

struct AVFrame;

namespace flexor::media {

struct VideoWriterOptions {
  int width = 0, height = 0;  ///< even
  int64_t fps_num = 30, fps_den = 1;
  std::string codec = "auto";  ///< auto: h264, else mpeg4; or an encoder of FFmpeg: "libx264", "libsvtav1", "mpeg4"
  int gop = 2;                 ///< distance of key frames; 2 as LeRobot, so that random access is cheap
  int crf = 30;                ///< quality of h264 and av1: lower is better
  int max_b_frames = -1;       ///< -1: the encoder's default
  std::string pix_fmt = "yuv420p";
  bool lossless = false;  ///< instead of crf; h264 and hevc
  // FFmpeg's numbers; the defaults are "not said".
  int color_range = 0, color_primaries = 2, color_transfer = 2, color_space = 2;
};

/// Writes one mp4: constant frame rate from pts 0, index in front. The file appears when finish() returns.
class VideoWriter {
 public:
  /// @throws Error(kFile) if the file cannot be made, Error(kRuntime) if there is no such encoder
  VideoWriter(const std::string& path, const VideoWriterOptions& options);
  ~VideoWriter();  ///< without finish(): leaves no file
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  void write(const Picture& picture);  ///< @throws Error(kUsage) if its size differs, Error(kRuntime)
  void write(const AVFrame& frame);    ///< a decoded one, converted where its pixel format differs. @throws the same
  void finish();                       ///< @throws Error(kFile) on a full disk

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::media
