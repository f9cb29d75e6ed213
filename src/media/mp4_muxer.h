#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "media/output_file.h"
#include "media/video_reader.h"

struct AVFormatContext;
struct AVPacket;
struct AVStream;

namespace flexor::media {

class VideoFile;

/// One mp4 with one video stream that takes packets of another file's stream; frame k is shown at k / fps. Without
/// finish() nothing is left. Not thread-safe.
class Mp4Muxer {
 public:
  /// @param like         the stream whose codec parameters, rate and time base the file gets
  /// @param num_frames   room for the index is left in front for that many; -1: it is moved there at the end, which
  ///                     costs a second pass over the file
  /// @param num_parts    runs of evenly spaced packets
  /// @throws Error(kFile), Error(kRuntime)
  Mp4Muxer(const std::string& path, const VideoFile& like, int64_t num_frames, int64_t num_parts);
  ~Mp4Muxer();
  Mp4Muxer(const Mp4Muxer&) = delete;
  Mp4Muxer& operator=(const Mp4Muxer&) = delete;

  /// Takes the packet as frame number `frame`, in presentation order. False if its decoding time cannot follow that of
  /// the packets before. @throws Error(kFile) on a full disk
  bool write(AVPacket& packet, int64_t frame);
  /// False if the index did not fit into the room left for it: then there is no file. @throws Error(kFile)
  bool finish();

 private:
  int64_t pts_of(int64_t frame) const;
  void check(int code, const char* doing) const;

  struct FreeContext {
    void operator()(AVFormatContext* context) const;
  };
  std::string path_;
  OutputFile file_;
  std::unique_ptr<AVFormatContext, FreeContext> context_;
  AVStream* stream_ = nullptr;
  Rational fps_, time_base_;  ///< time base of the packets
  int64_t last_dts_ = std::numeric_limits<int64_t>::min();
  bool has_room_ = false;
};

}  // namespace flexor::media
