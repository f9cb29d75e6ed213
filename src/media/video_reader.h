#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "media/picture.h"

namespace flexor::media {

/// An exact fraction, such as a frame rate (30000/1001).
struct Rational {
  int64_t num = 0, den = 1;
  double value() const { return static_cast<double>(num) / static_cast<double>(den); }
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// Facts of the (first) video stream of a file, from its header.
struct VideoInfo {
  std::string codec;    ///< canonical name: "h264", "av1", "hevc", "mpeg4"
  std::string pix_fmt;  ///< "yuv420p"; empty until the first picture was decoded if the header does not say it
  int width = 0, height = 0;
  Rational fps;            ///< pictures per second
  Rational time_base;      ///< seconds per tick of a presentation timestamp
  int64_t num_frames = 0;  ///< as the header promises
  int64_t start_pts = 0;   ///< presentation timestamp of the first picture, in ticks
  double duration_s = 0;   ///< of the stream, else of the container
};

class DecoderPool;

/// Frame-exact random access to the video stream of one file. Frames are found by their presentation timestamps, so
/// that frame reordering, negative first decoding timestamps and open GOPs do not shift them. Not thread-safe.
class VideoReader {
 public:
  /// Reads the header only.
  /// @param decoders  decoders to share with other readers of this thread (see VideoCache); by default an own one
  /// @throws Error(kFile) if the file is missing, unreadable or a Git-LFS pointer
  /// @throws Error(kData) if it is truncated, no video, without a video stream, or its codec has no decoder here
  static std::unique_ptr<VideoReader> open(const std::string& path, DecoderPool* decoders = nullptr);
  ~VideoReader();
  VideoReader(const VideoReader&) = delete;
  VideoReader& operator=(const VideoReader&) = delete;

  const std::string& path() const;
  const VideoInfo& info() const;

  /// Picture number `frame` in presentation order, from 0. @throws Error(kData) if there is none or it is damaged
  void read_frame(int64_t frame, Picture& out);

  /// Decodes picture number `frame` and drops it. @throws as read_frame
  void check_frame(int64_t frame);

  /// The picture shown at `query_s` seconds: number round-half-even(query * fps), whose timestamp must lie within
  /// `tolerance_s` of the query. @throws Error(kData) naming the query and the timestamps found; never guesses
  void read_at(double query_s, double tolerance_s, Picture& out);

  /// Pictures decoded so far, for measurements: a random read costs one to the GOP's length.
  int64_t num_decoded() const;

 private:
  struct State;
  explicit VideoReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Facts of a file with the pixel format known: decodes the first picture. @throws as open() and read_frame()
VideoInfo probe_video(const std::string& path);

}  // namespace flexor::media
