#pragma once
#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "media/picture.h"
#include "media/video_cache.h"

namespace flexor::data {

/// Decodes the pictures that datasets refer to, from videos or encoded images. Not thread-safe: one per thread.
class PictureSource {
 public:
  explicit PictureSource(size_t max_open_files = 64) : videos_(max_open_files) {}

  /// @return  valid until the next call
  /// @throws Error(kFile), Error(kData) naming the file
  const media::Picture& read(const PictureRef& ref);

  int64_t num_decoded() const { return videos_.num_decoded(); }

 private:
  media::VideoCache videos_;
  media::Picture picture_;
};

}  // namespace flexor::data
