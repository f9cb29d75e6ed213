#pragma once
#include <cstdint>
#include <string>

#include "media/av_handle.h"
#include "media/video_reader.h"

struct AVRational;

namespace flexor::media {

/// FFmpeg's form of a rational. Needs <libavutil/rational.h>.
AVRational to_av(const Rational& r);

/// The container side of a video: header, index, seeking and packets of its first video stream. Not thread-safe.
class VideoFile {
 public:
  /// @throws as VideoReader::open, but for the decoder
  explicit VideoFile(std::string path);

  const std::string& path() const { return path_; }
  const VideoInfo& info() const { return info_; }
  const AVCodecParameters& parameters() const;
  const AVStream& stream() const;
  /// Distance of the first decoding from the first presentation timestamp, in ticks: not 0 where frames are reordered.
  int64_t reorder_shift() const { return reorder_shift_; }

  /// Presentation timestamp that frame number `frame` has when the frame rate is constant, in ticks.
  int64_t pts_of(int64_t frame) const;
  /// Distance in ticks within which a timestamp still belongs to a frame number (containers round timestamps).
  int64_t slack() const { return slack_; }
  double seconds(int64_t pts) const { return static_cast<double>(pts) * info_.time_base.value(); }

  /// Next packet of the stream, after a first seek(); false at the end of the file. @throws Error(kData) if the file
  /// cannot be read on
  bool next(AVPacket& packet);
  /// Makes next() start at the last key frame that is not shown after `pts`: from there on the frame can be decoded
  /// even when it precedes the next key frame only in presentation order (open GOPs). @throws Error(kData)
  void seek(int64_t pts);
  /// True if a seek to `pts` would start behind a packet with decoding timestamp `dts`.
  bool has_key_between(int64_t dts, int64_t pts) const;

 private:
  std::string path_;
  VideoInfo info_;
  AvPtr<AVFormatContext> context_;
  AvPtr<AVPacket> pending_;
  bool has_pending_ = false;
  int stream_ = -1;
  int64_t slack_ = 0;
  int64_t reorder_shift_ = 0;  ///< first presentation timestamp - first decoding timestamp

  void open_container();
  void read_facts();
  void find_start();
  void check_length() const;
  bool read(AVPacket& packet);
};

}  // namespace flexor::media
