#pragma once
#include <cstdint>
#include <string_view>

#include "data/image_planes.h"

namespace flexor::data {

/// dataset.image_transforms: none; openpi's augmentation of the resized picture; LeRobot's six image transforms of the
/// recorded picture. kRecap, which has no name: openpi's, of the picture resized to whole levels (RECAP's value model).
enum class ImageTransforms { kNone, kOpenpi, kLerobot, kRecap };
/// "none", "openpi" or "lerobot". @throws Error(kConfig)
ImageTransforms image_transforms_from_name(std::string_view name);

/// Seed of the draws for one picture: the same wherever and by whichever thread it is read.
/// @param index   place of the sample in its epoch's order
/// @param camera  index of the camera
uint64_t augmentation_seed(uint64_t seed, int64_t epoch, int64_t index, int64_t camera);

/// LeRobot's defaults: three of brightness 0.8..1.2, contrast 0.8..1.2, saturation 0.5..1.5, hue -0.05..0.05, sharpness
/// 0.5..1.5 and affine (5 degrees, 5 % shift), drawn without replacement and applied in this order.
void augment_lerobot(ImagePlanes& image, uint64_t seed);

/// openpi, training (models_pytorch preprocessing): cameras without "wrist" in their name are cropped to 95 % at a
/// random place, scaled back and turned by up to 5 degrees; all get brightness 0.7..1.3, contrast 0.6..1.4, saturation
/// 0.5..1.5. One draw per sample and camera, as the JAX version does. Works on 0..1 (`levels` false).
void augment_openpi(ImagePlanes& image, bool is_wrist, uint64_t seed);

/// The numbers that openpi's augmentation draws, in this order.
struct OpenpiDraws {
  int top = 0, left = 0;   ///< of the crop; not for wrist cameras
  double angle_deg = 0.0;  ///< not for wrist cameras
  float brightness = 1.0F, contrast = 1.0F, saturation = 1.0F;
};
OpenpiDraws draw_openpi(int width, int height, bool is_wrist, uint64_t seed);
void apply_openpi(ImagePlanes& image, bool is_wrist, const OpenpiDraws& draws);

}  // namespace flexor::data
