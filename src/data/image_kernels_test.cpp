#include "data/image_kernels.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "base/error.h"
#include "data/augment.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

const SafetensorsFile& golden() {
  static const SafetensorsFile file = testing::golden("image_transforms/image_transforms.safetensors");
  return file;
}

ImagePlanes planes_of(const Tensor& picture, bool levels) {  // [3, H, W]
  const Tensor values = picture.to(at::kFloat).contiguous();
  ImagePlanes image;
  image.height = static_cast<int>(values.size(1));
  image.width = static_cast<int>(values.size(2));
  image.levels = levels;
  image.values.assign(values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel());
  return image;
}

Tensor tensor_of(const ImagePlanes& image) {
  const Tensor out = at::empty({3, image.height, image.width});
  std::memcpy(out.data_ptr<float>(), image.values.data(), image.values.size() * sizeof(float));
  return out;
}

const std::map<std::string, std::function<void(ImagePlanes&)>> kOperations = {
    {"brightness_1.2", [](ImagePlanes& i) { adjust_brightness(i, 1.2F); }},
    {"contrast_0.8", [](ImagePlanes& i) { adjust_contrast(i, 0.8F); }},
    {"saturation_1.5", [](ImagePlanes& i) { adjust_saturation(i, 1.5F); }},
    {"hue_0.05", [](ImagePlanes& i) { adjust_hue(i, 0.05F); }},
    {"hue_-0.05", [](ImagePlanes& i) { adjust_hue(i, -0.05F); }},
    {"sharpness_1.5", [](ImagePlanes& i) { adjust_sharpness(i, 1.5F); }},
    {"sharpness_0.5", [](ImagePlanes& i) { adjust_sharpness(i, 0.5F); }},
    {"affine_deg3.5_tx4_ty-3", [](ImagePlanes& i) { rotate_and_shift(i, 3.5, 4, -3); }},
};

TEST(ImageKernels, FloatPicturesMatchTorchvision) {
  for (const auto& [name, operation] : kOperations) {
    ImagePlanes image = planes_of(golden().get("input"), /*levels=*/false);
    operation(image);
    SCOPED_TRACE(name);
    EXPECT_TENSOR_NEAR(tensor_of(image), golden().get(name), 0.0, 1e-5);
  }
}

TEST(ImageKernels, Uint8PicturesMatchTorchvision) {
  int seen = 0;
  for (const auto& [name, operation] : kOperations) {
    if (!golden().contains("u8_" + name)) {
      continue;
    }
    ImagePlanes image = planes_of(golden().get("input_u8"), /*levels=*/true);
    operation(image);
    const Tensor expected = golden().get("u8_" + name).to(at::kFloat);
    SCOPED_TRACE(name);
    EXPECT_TENSOR_NEAR(tensor_of(image), expected, 0.0, 1.0);
    const double different = tensor_of(image).ne(expected).to(at::kFloat).mean().item<double>();
    EXPECT_LE(different, 1e-3);  // a value at the edge of a level may fall the other way
    ++seen;
  }
  EXPECT_EQ(seen, 5);
}

TEST(ImageKernels, NeutralFactorsChangeNothing) {
  const Tensor input = golden().get("input");
  ImagePlanes image = planes_of(input, false);
  adjust_brightness(image, 1.0F);
  adjust_contrast(image, 1.0F);
  adjust_saturation(image, 1.0F);
  adjust_sharpness(image, 1.0F);
  rotate_and_shift(image, 0, 0, 0);
  jitter_openpi(image, 1.0F, 1.0F, 1.0F);
  crop_and_resize(image, 0, 0, image.height, image.width);
  EXPECT_TENSOR_NEAR(tensor_of(image), input, 0.0, 1e-5);
}

TEST(ImageKernels, OpenpiRotationIsTheFormula) {
  // A picture that is linear in x and y is sampled exactly by a bilinear kernel, away from the border.
  ImagePlanes image = planes_of(at::zeros({3, 40, 60}), false);
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 60; ++x) {
      image.plane(1)[static_cast<size_t>(y * 60 + x)] = 0.01F * static_cast<float>(x) + 0.002F * static_cast<float>(y);
    }
  }
  rotate_openpi(image, 4.0);
  const double angle = 4.0 * 3.14159265358979 / 180;
  for (int y = 10; y < 30; ++y) {
    for (int x = 10; x < 50; ++x) {
      const double gx = -1 + 2.0 * x / 59, gy = -1 + 2.0 * y / 39;
      const double sx = ((gx * std::cos(angle) - gy * std::sin(angle) + 1) * 60 - 1) / 2;
      const double sy = ((gx * std::sin(angle) + gy * std::cos(angle) + 1) * 40 - 1) / 2;
      ASSERT_NEAR(image.plane(1)[static_cast<size_t>(y * 60 + x)], 0.01 * sx + 0.002 * sy, 1e-4);
    }
  }
  EXPECT_EQ(image.plane(1)[59], 0.0F);  // the corner turned in from outside
}

TEST(Augment, TheSameSeedGivesTheSamePicture) {
  for (const bool levels : {false, true}) {
    const Tensor input = golden().get(levels ? "input_u8" : "input");
    ImagePlanes a = planes_of(input, levels), b = planes_of(input, levels), other = planes_of(input, levels);
    augment_lerobot(a, 11);
    augment_lerobot(b, 11);
    augment_lerobot(other, 12);
    EXPECT_EQ(a.values, b.values);
    EXPECT_NE(a.values, other.values);
  }
  EXPECT_NE(augmentation_seed(1, 0, 0, 0), augmentation_seed(1, 0, 0, 1));
  EXPECT_NE(augmentation_seed(1, 0, 0, 0), augmentation_seed(1, 1, 0, 0));
  EXPECT_NE(augmentation_seed(1, 0, 0, 0), augmentation_seed(1, 0, 1, 0));
}

TEST(Augment, OpenpiLeavesTheGeometryOfWristCamerasAlone) {
  // Colour jitter keeps a picture of one colour flat; the crop-and-turn of other cameras brings in a black corner.
  ImagePlanes wrist = planes_of(at::full({3, 64, 64}, 0.5), false), base = wrist;
  augment_openpi(wrist, /*is_wrist=*/true, 5);
  augment_openpi(base, /*is_wrist=*/false, 5);
  const auto spread = [](const ImagePlanes& image) {
    const auto [low, high] = std::minmax_element(image.values.begin(), image.values.end());
    return *high - *low;
  };
  EXPECT_LT(spread(wrist), 1e-6F);
  EXPECT_GT(spread(base), 0.05F);
}

TEST(Augment, NamesAreChecked) {
  EXPECT_EQ(image_transforms_from_name("openpi"), ImageTransforms::kOpenpi);
  EXPECT_EQ(image_transforms_from_name("none"), ImageTransforms::kNone);
  EXPECT_EQ(image_transforms_from_name("lerobot"), ImageTransforms::kLerobot);
  EXPECT_THROW(image_transforms_from_name("on"), Error);
}

}  // namespace
}  // namespace flexor::data
