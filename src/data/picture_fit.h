#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/augment.h"
#include "media/picture.h"
#include "media/resize.h"

namespace flexor::data {

/// Brings decoded pictures into a batch: augmentation in the place where the reference has it, resize_with_pad, planar
/// layout. Not thread-safe: one per thread.
class PictureFit {
 public:
  PictureFit(ImageTransforms transforms, int height, int width)
      : transforms_(transforms), height_(height), width_(width) {}

  /// @param is_wrist  for openpi's augmentation
  /// @param seed      of the augmentation, unused without one
  /// @param out       [3, height, width]
  void to_uint8(const media::Picture& picture, bool is_wrist, uint64_t seed, std::span<uint8_t> out);
  void to_float(const media::Picture& picture, bool is_wrist, uint64_t seed, std::span<float> out);  ///< values 0..1
  /// What to_uint8 does after resizing, for a picture that was resized before. Not for ImageTransforms::kLerobot, which
  /// works on pictures as recorded.
  void augment_resized(bool is_wrist, uint64_t seed, std::span<uint8_t> out);

 private:
  media::ResizeWithPad& resizer(int source_width, int source_height);
  void openpi(std::span<float> values, bool is_wrist, uint64_t seed);

  ImageTransforms transforms_;
  int height_, width_;
  std::vector<std::unique_ptr<media::ResizeWithPad>> resizers_;  ///< one per source size
  ImagePlanes planes_;
  std::vector<uint8_t> levels_;
  media::Picture transformed_;
};

}  // namespace flexor::data
