#include "data/augment.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/image_kernels.h"
#include "tensor/rng.h"

namespace flexor::data {
namespace {

// Uniform numbers that are the same with every standard library.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11U) * 0x1p-53;
  }
  float uniform_f(double low, double high) { return static_cast<float>(uniform(low, high)); }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 random_;
};

constexpr uint64_t kAugmentStream = 0x61756700;  // keeps these draws apart from the run's others
constexpr int kNumLerobot = 6, kMaxLerobot = 3;

void apply_lerobot(ImagePlanes& image, int which, Draw& draw) {
  switch (which) {
    case 0:
      adjust_brightness(image, draw.uniform_f(0.8, 1.2));
      break;
    case 1:
      adjust_contrast(image, draw.uniform_f(0.8, 1.2));
      break;
    case 2:
      adjust_saturation(image, draw.uniform_f(0.5, 1.5));
      break;
    case 3:
      adjust_hue(image, draw.uniform_f(-0.05, 0.05));
      break;
    case 4:
      adjust_sharpness(image, draw.uniform_f(0.5, 1.5));
      break;
    default: {
      const double angle = draw.uniform(-5.0, 5.0);
      const double dx = std::nearbyint(draw.uniform(-0.05, 0.05) * image.width);
      const double dy = std::nearbyint(draw.uniform(-0.05, 0.05) * image.height);
      rotate_and_shift(image, angle, dx, dy);
    }
  }
}

}  // namespace

ImageTransforms image_transforms_from_name(std::string_view name) {
  if (name == "none") {
    return ImageTransforms::kNone;
  }
  if (name == "openpi") {
    return ImageTransforms::kOpenpi;
  }
  if (name == "lerobot") {
    return ImageTransforms::kLerobot;
  }
  throw Error(ErrorKind::kConfig, str_cat("unknown image transforms \"", name, "\""), "dataset.image_transforms",
              "use none, openpi or lerobot");
}

uint64_t augmentation_seed(uint64_t seed, int64_t epoch, int64_t index, int64_t camera) {
  return stream_seed(seed, kAugmentStream + static_cast<uint64_t>(camera), static_cast<uint64_t>(epoch),
                     static_cast<uint64_t>(index));
}

void augment_lerobot(ImagePlanes& image, uint64_t seed) {
  Draw draw(seed);
  std::array<int, kNumLerobot> order{0, 1, 2, 3, 4, 5};
  for (int i = 0; i < kMaxLerobot; ++i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i + draw.below(kNumLerobot - i))]);
  }
  std::sort(order.begin(), order.begin() + kMaxLerobot);
  for (int i = 0; i < kMaxLerobot; ++i) {
    apply_lerobot(image, order[static_cast<size_t>(i)], draw);
  }
}

namespace {

int cropped(int size) {
  return std::max(1, static_cast<int>(size * 0.95));
}

}  // namespace

OpenpiDraws draw_openpi(int width, int height, bool is_wrist, uint64_t seed) {
  Draw draw(seed);
  OpenpiDraws draws;
  if (!is_wrist) {
    draws.top = draw.below(height - cropped(height) + 1);
    draws.left = draw.below(width - cropped(width) + 1);
    draws.angle_deg = draw.uniform(-5.0, 5.0);
  }
  draws.brightness = draw.uniform_f(0.7, 1.3);
  draws.contrast = draw.uniform_f(0.6, 1.4);
  draws.saturation = draw.uniform_f(0.5, 1.5);
  return draws;
}

void apply_openpi(ImagePlanes& image, bool is_wrist, const OpenpiDraws& draws) {
  assert(!image.levels);
  constexpr double kSmallestAngle = 0.1;
  if (!is_wrist) {
    crop_and_resize(image, draws.top, draws.left, cropped(image.height), cropped(image.width));
    if (std::abs(draws.angle_deg) > kSmallestAngle) {
      rotate_openpi(image, draws.angle_deg);
    }
  }
  jitter_openpi(image, draws.brightness, draws.contrast, draws.saturation);
}

void augment_openpi(ImagePlanes& image, bool is_wrist, uint64_t seed) {
  apply_openpi(image, is_wrist, draw_openpi(image.width, image.height, is_wrist, seed));
}

}  // namespace flexor::data
