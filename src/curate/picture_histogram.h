#pragma once
#include <array>
#include <cstdint>

#include "media/picture.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// Distance of the pixels that LeRobot's recorder looks at, in both directions: 1 for pictures below 300 pixels, else
/// the longer side / 150 (640 x 480: 4).
int picture_stride(int width, int height);

/// How often each of the 256 levels occurs in each channel of many pictures. Everything that statistics need follows
/// from these integers without rounding: any order and any number of threads gives the same.
class PictureHistogram {
 public:
  using Levels = std::array<uint64_t, 256>;

  /// @param stride  every stride-th row and column
  void add(const media::Picture& picture, int stride = 1);
  void add(const PictureHistogram& other);

  const Levels& levels(int channel) const { return counts_[static_cast<size_t>(channel)]; }
  int64_t num_pictures() const { return num_pictures_; }
  uint64_t num_pixels() const;

  /// Exact statistics of the pixels as level / 255, shape [3, 1, 1]; `count` is the number of pictures.
  /// @throws Error(kData) when there are none
  schema::FeatureStats stats() const;

 private:
  std::array<Levels, 3> counts_{};
  int64_t num_pictures_ = 0;
};

}  // namespace flexor::curate
