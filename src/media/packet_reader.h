#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "media/av_handle.h"

namespace flexor::media {

class VideoFile;

/// Packets of a file's video stream, as VideoFile hands them out. Of an mp4 they are found by its index and read a
/// megabyte at a time, which spares memory for each and half of the copies. Not thread-safe.
class PacketReader {
 public:
  /// @param file  must outlive the reader and be used by nobody else meanwhile
  explicit PacketReader(VideoFile& file);
  ~PacketReader();
  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;

  /// Makes next() start at the last key frame that is not shown after `pts`. @throws Error(kData)
  void seek(int64_t pts);
  /// False at the end. The packet's bytes are valid until the next call. @throws Error(kData)
  bool next(AVPacket& packet);

 private:
  struct Samples;
  VideoFile& file_;
  std::unique_ptr<Samples> samples_;  ///< null: packets come from the file itself
};

}  // namespace flexor::media
