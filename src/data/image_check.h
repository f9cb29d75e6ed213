#pragma once
#include <optional>
#include <string_view>

#include "data/dataset_info.h"
#include "data/finding.h"

namespace flexor::data {

/// One encoded picture against its feature: it can be decoded and has the declared size.
/// @returns  a finding without its place; nothing when the picture is well
std::optional<Finding> check_image(const FeatureInfo& camera, std::string_view bytes);

}  // namespace flexor::data
