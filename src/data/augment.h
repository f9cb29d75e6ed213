#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "media/picture.h"

namespace flexor::data {

/// dataset.image_transforms
enum class ImageTransforms { kNone, kOpenpi, kLerobot };
/// "none", "openpi" or "lerobot". @throws Error(kConfig)
ImageTransforms image_transforms_from_name(std::string_view name);

}  // namespace flexor::data
