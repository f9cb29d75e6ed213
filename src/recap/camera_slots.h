#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/dataset_info.h"

namespace flexor::recap {

/// Which camera of a dataset stands in which slot of the model: pairs (slot, camera), slots in sorted order.
using CameraSlots = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kSlots[] = {"base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb"};

/// The cameras of a robot type. `libero`, `franka_co_train`: image, wrist_image; `libero_v2`: observation.images.image,
/// observation.images.wrist_image; `franka`: image; each with or without the prefix `observation.` or
/// `observation.images.`. `auto`: the first camera without "wrist" in its name, then the first two with.
/// Slots without a camera are not listed: the model masks them.
/// @throws Error(kConfig) for an unknown type, Error(kData) if the dataset lacks a camera of it, naming those it has
CameraSlots camera_slots(std::string_view robot_type, const std::vector<data::FeatureInfo>& cameras,
                         const std::string& where);

}  // namespace flexor::recap
