#include "data/picture_fit.h"

#include <algorithm>
#include <cmath>

namespace flexor::data {

media::ResizeWithPad& PictureFit::resizer(int source_width, int source_height) {
  for (const auto& candidate : resizers_) {
    if (candidate->fits(source_width, source_height)) {
      return *candidate;
    }
  }
  resizers_.push_back(std::make_unique<media::ResizeWithPad>(source_width, source_height, width_, height_));
  return *resizers_.back();
}

void PictureFit::openpi(std::span<float> values, bool is_wrist, uint64_t seed) {
  planes_.width = width_;
  planes_.height = height_;
  planes_.levels = false;
  planes_.values.assign(values.begin(), values.end());
  augment_openpi(planes_, is_wrist, seed);
  std::copy(planes_.values.begin(), planes_.values.end(), values.begin());
}

void PictureFit::to_uint8(const media::Picture& picture, bool is_wrist, uint64_t seed, std::span<uint8_t> out) {
  media::ResizeWithPad& resize = resizer(picture.width, picture.height);
  if (transforms_ == ImageTransforms::kLerobot) {
    to_planes(picture, /*levels=*/true, planes_);
    augment_lerobot(planes_, seed);
    to_picture(planes_, transformed_);
    resize.to_uint8(transformed_, out);
    return;
  }
  resize.to_uint8(picture, out);
  augment_resized(is_wrist, seed, out);
}

void PictureFit::augment_resized(bool is_wrist, uint64_t seed, std::span<uint8_t> out) {
  if (transforms_ == ImageTransforms::kOpenpi) {
    std::vector<float> values(out.size());
    std::transform(out.begin(), out.end(), values.begin(), [](uint8_t v) { return static_cast<float>(v) / 255.0F; });
    openpi(values, is_wrist, seed);
    std::transform(values.begin(), values.end(), out.begin(),
                   [](float v) { return static_cast<uint8_t>(std::nearbyint(v * 255.0F)); });
  }
}

void PictureFit::to_float(const media::Picture& picture, bool is_wrist, uint64_t seed, std::span<float> out) {
  media::ResizeWithPad& resize = resizer(picture.width, picture.height);
  if (transforms_ == ImageTransforms::kLerobot) {
    to_planes(picture, /*levels=*/false, planes_);
    augment_lerobot(planes_, seed);
    resize.to_float(planes_.values, out);
    return;
  }
  if (transforms_ == ImageTransforms::kRecap) {
    levels_.resize(out.size());
    resize.to_uint8(picture, levels_);
    std::transform(levels_.begin(), levels_.end(), out.begin(),
                   [](uint8_t v) { return static_cast<float>(v) / 255.0F; });
    openpi(out, is_wrist, seed);
    return;
  }
  resize.to_float(picture, out);
  if (transforms_ == ImageTransforms::kOpenpi) {
    openpi(out, is_wrist, seed);
  }
}

}  // namespace flexor::data
