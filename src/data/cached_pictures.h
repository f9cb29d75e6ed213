#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch_reader.h"
#include "data/frame_cache.h"
#include "data/mixture.h"

namespace flexor::data {

/// A picture in a frame cache; `cache` is null when it has to be decoded.
struct CachedPicture {
  const FrameCache* cache = nullptr;  ///< lives as long as the mixture's datasets
  int64_t number = 0;
};

/// Whether frame caches hold pictures of this form: uint8, resized, not augmented before resizing.
/// @throws Error(kConfig) if they do not and format.frame_cache is a path
bool can_use_frame_cache(const BatchFormat& format);

/// Where the pictures of a mixture lie in the frame caches of its datasets.
class CachedPictures {
 public:
  CachedPictures() = default;
  /// @throws as Dataset::frame_cache and can_use_frame_cache
  CachedPictures(const Mixture& mixture, const BatchFormat& format);

  /// Also asks the system to read the bytes ahead.
  /// @param camera    index into mixture.dataset(part).cameras()
  /// @param position  in that dataset
  CachedPicture find(int64_t part, int64_t camera, int64_t position) const;

 private:
  struct Part {
    std::shared_ptr<const FrameCache> cache;  ///< null: none
    std::vector<int64_t> cameras;             ///< of the dataset -> of the cache
    std::vector<int64_t> first_frames;        ///< in the cache, of each episode of the dataset
    const Dataset* dataset = nullptr;
  };
  std::vector<Part> parts_;
};

}  // namespace flexor::data
