#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flexor::media {

/// A run of frames of a video file.
struct VideoPart {
  std::string path;
  int64_t first_frame = 0;
  int64_t num_frames = -1;      ///< -1: all that follow
  int64_t expected_frames = 0;  ///< with -1: how many that will be, if known; saves a second pass
};

/// Why packets cannot be copied although the videos are whole; encoding them again helps.
struct CopyObstacle {
  std::string what, where;
};

struct CopyResult {
  std::vector<int64_t> num_frames;       ///< of each part
  std::optional<CopyObstacle> obstacle;  ///< then there is no file
};

/// Makes mp4 files out of the packets of others, without decoding: parts one after the other, frame k of the file shown
/// at k / fps, the index in front. Packets stay byte for byte what they are. The last input stays open, so that parts
/// of one file, taken in order, cost one pass over it. Not thread-safe.
class VideoCopier {
 public:
  VideoCopier();
  ~VideoCopier();
  VideoCopier(const VideoCopier&) = delete;
  VideoCopier& operator=(const VideoCopier&) = delete;

  /// An obstacle is a part that does not begin with a key frame or shares packets with its neighbours, or streams that
  /// differ in codec, size, pixel format, rate, time base or header.
  /// @throws Error(kInterrupted), Error(kFile), Error(kData) for unreadable videos, frames that are missing or unevenly
  /// spaced, a full disk
  CopyResult copy(const std::vector<VideoPart>& parts, const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::media
