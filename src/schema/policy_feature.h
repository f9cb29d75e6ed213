#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::schema {

/// Role of a feature of a policy, by LeRobot's names (VISUAL, STATE, ACTION, ENV, REWARD, LANGUAGE).
enum class FeatureType { kVisual, kState, kAction, kEnv, kReward, kLanguage };
std::string_view feature_type_name(FeatureType type);
FeatureType feature_type_from_name(std::string_view name);  ///< @throws Error(kConfig)

/// How a feature is normalised; the formulas stand in data/normalize.h.
enum class NormMode { kIdentity, kMeanStd, kMinMax, kQuantiles, kQuantile10 };
std::string_view norm_mode_name(NormMode mode);       ///< "IDENTITY", "MEAN_STD", ...
NormMode norm_mode_from_name(std::string_view name);  ///< @throws Error(kConfig)

/// One entry of `input_features` / `output_features` of LeRobot's config.json.
struct PolicyFeature {
  std::string name;  ///< "observation.images.top", "observation.state", "action"
  FeatureType type = FeatureType::kState;
  std::vector<int64_t> shape;  ///< VISUAL: [3, H, W]; else [D]
  friend bool operator==(const PolicyFeature&, const PolicyFeature&) = default;
};

inline constexpr std::string_view kStateKey = "observation.state";
inline constexpr std::string_view kActionKey = "action";
inline constexpr std::string_view kImagePrefix = "observation.images.";

}  // namespace flexor::schema
