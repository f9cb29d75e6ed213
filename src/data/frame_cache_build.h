#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "data/dataset.h"

namespace flexor::data {

struct FrameCacheOptions {
  std::string path;  ///< of the cache file; one that is there is replaced when the new one is complete
  int64_t height = 224, width = 224;
  bool is_jpeg = false;  ///< else raw
  int64_t quality = 95;  ///< of JPEG, 1..100
  int num_threads = 1;   ///< that decode
};

struct FrameCacheSummary {
  int64_t pictures = 0;
  int64_t bytes = 0;   ///< of the file
  Json jpeg_error;     ///< {psnr_db, mean_abs, max_abs, pictures} over all pictures; null for raw
  double seconds = 0;  ///< wall time
};

/// Decodes every picture of `dataset` once, in the order in which its files hold them, several files or episodes at a
/// time, and writes them as the loader's uint8 pictures (PictureFit without augmentation). The file appears complete or
/// not at all; room for a raw one is taken before decoding begins. Shows progress.
/// @param dataset  opened with all its episodes
/// @throws Error(kFile) (cannot write, full disk), Error(kData) naming file, episode, frame and camera;
///         Error(kInterrupted), Error(kTerminated)
FrameCacheSummary make_frame_cache(const Dataset& dataset, const FrameCacheOptions& options);

}  // namespace flexor::data
