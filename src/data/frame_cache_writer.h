#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "data/frame_cache.h"

namespace flexor::data {

/// Writes the file of a frame cache: pictures in any order, the header at the end. write() may be called from several
/// threads at once.
class FrameCacheWriter {
 public:
  /// Takes the room of a raw cache at once. @throws Error(kFile)
  FrameCacheWriter(std::string path, const FrameCacheHeader& header);

  /// @param number  header.picture_number(); each once
  /// @param bytes   planar pixels, or a JPEG file
  void write(int64_t number, std::span<const uint8_t> bytes);

  /// Writes the header, with the hashes and errors that are known now, and gives the file its name.
  /// @return  size of the file in bytes
  int64_t finish(const FrameCacheHeader& header);

 private:
  AtomicFile file_;
  bool is_jpeg_;
  int64_t picture_bytes_;
  std::atomic<int64_t> end_;           ///< where the next JPEG picture goes
  std::vector<FrameCacheSlot> slots_;  ///< of JPEG pictures
};

}  // namespace flexor::data
