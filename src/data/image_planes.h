#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/picture.h"

namespace flexor::data {

/// A picture for arithmetic, planar [3, H, W]: float32 0..1, or whole levels 0..255 held as floats, which every
/// operation brings back to whole levels as torchvision does for uint8.
struct ImagePlanes {
  int width = 0, height = 0;
  bool levels = false;  ///< true: 0..255, whole numbers
  std::vector<float> values;

  float max_value() const { return levels ? 255.0F : 1.0F; }
  size_t plane_size() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
  std::span<float> plane(int channel) {
    return {values.data() + static_cast<size_t>(channel) * plane_size(), plane_size()};
  }
  std::span<const float> plane(int channel) const {
    return {values.data() + static_cast<size_t>(channel) * plane_size(), plane_size()};
  }
};

/// @param levels  keep 0..255, else divide by 255
void to_planes(const media::Picture& picture, bool levels, ImagePlanes& out);
/// From whole levels. `image.levels` must be set.
void to_picture(const ImagePlanes& image, media::Picture& out);

}  // namespace flexor::data
