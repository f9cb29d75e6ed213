#include "data/image_planes.h"

#include <cassert>

namespace flexor::data {

void to_planes(const media::Picture& picture, bool levels, ImagePlanes& out) {
  out.width = picture.width;
  out.height = picture.height;
  out.levels = levels;
  const size_t n = out.plane_size();
  out.values.resize(3 * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const auto value = static_cast<float>(picture.rgb[3 * i + c]);
      out.values[c * n + i] = levels ? value : value / 255.0F;
    }
  }
}

void to_picture(const ImagePlanes& image, media::Picture& out) {
  assert(image.levels);
  out.resize(image.width, image.height);
  const size_t n = image.plane_size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      out.rgb[3 * i + c] = static_cast<uint8_t>(image.values[c * n + i]);
    }
  }
}

}  // namespace flexor::data
