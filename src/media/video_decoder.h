#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "media/av_handle.h"
#include "media/rgb_converter.h"
#include "media/video_reader.h"

namespace flexor::media {

class VideoFile;

/// One open decoder, which may serve several files with equal codec parameters in turn: whoever takes it over must
/// start at a key frame. One thread inside: loaders run many decoders side by side. Not thread-safe.
class VideoDecoder {
 public:
  /// @throws Error(kData) if this build of FFmpeg has no decoder for the codec
  explicit VideoDecoder(const VideoFile& file);

  bool fits(const VideoFile& file) const;  ///< its stream has the same codec parameters

  bool owned_by(const void* reader) const { return owner_ == reader; }
  void take(const void* reader);  ///< forgets what was fed so far

  enum class Status { kFrame, kNeedsInput, kEnd, kError };
  /// @param packet  null: no more input, hand out what is inside
  /// @return        0 or FFmpeg's error
  int send(const AVPacket* packet);
  /// From the next packet on, pictures that no other one refers to need not be decoded (they then never come out). Has
  /// an effect where FFmpeg finds them in the bit stream without doubt: h264 and mpeg4.
  void skip_unreferenced(bool skip);
  Status receive();  ///< kFrame: frame() holds the next picture in presentation order
  const AVFrame& frame() const { return *frame_; }
  int64_t pts() const;  ///< of frame(), in ticks of the stream
  void to_rgb(Picture& out) { converter_.convert(*frame_, out); }
  int last_error() const { return last_error_; }

 private:
  AvPtr<AVCodecParameters> parameters_;
  AvPtr<AVCodecContext> context_;
  AvPtr<AVFrame> frame_;
  RgbConverter converter_;
  Rational time_base_;
  const void* owner_ = nullptr;
  int last_error_ = 0;
};

/// The decoders of one thread's readers: a file gets one that fits, else a new one. A decoder lives as long as a reader
/// uses it.
class DecoderPool {
 public:
  std::shared_ptr<VideoDecoder> get(const VideoFile& file);

 private:
  std::vector<std::weak_ptr<VideoDecoder>> decoders_;
};

}  // namespace flexor::media
