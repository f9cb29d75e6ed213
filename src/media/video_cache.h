#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "media/video_reader.h"

namespace flexor::media {

/// Open video files of one thread, the least recently used closed first. Files of the same codec parameters share one
/// decoder, so an open file costs its index only. Not thread-safe: one per thread.
class VideoCache {
 public:
  /// @param max_files  open files; each holds one file descriptor; > 0
  explicit VideoCache(size_t max_files = 64);
  ~VideoCache();
  VideoCache(const VideoCache&) = delete;
  VideoCache& operator=(const VideoCache&) = delete;

  /// The reader of `path`, valid until the next call. @throws as VideoReader::open
  VideoReader& reader(const std::string& path);

  size_t size() const;          ///< files open now
  int64_t num_decoded() const;  ///< pictures decoded by all its readers, closed ones included

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::media
