#include "schema/policy_feature.h"

#include <array>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::schema {
namespace {

constexpr std::array<std::string_view, 6> kTypeNames = {"VISUAL", "STATE", "ACTION", "ENV", "REWARD", "LANGUAGE"};
constexpr std::array<std::string_view, 5> kModeNames = {"IDENTITY", "MEAN_STD", "MIN_MAX", "QUANTILES", "QUANTILE10"};

template <size_t N>
size_t index_of(const std::array<std::string_view, N>& names, std::string_view name, std::string_view what) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) {
      return i;
    }
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  throw Error(ErrorKind::kConfig, str_cat("unknown ", what, " '", name, "', expected one of ", known));
}

}  // namespace

std::string_view feature_type_name(FeatureType type) {
  return kTypeNames.at(static_cast<size_t>(type));
}

FeatureType feature_type_from_name(std::string_view name) {
  return static_cast<FeatureType>(index_of(kTypeNames, name, "feature type"));
}

std::string_view norm_mode_name(NormMode mode) {
  return kModeNames.at(static_cast<size_t>(mode));
}

NormMode norm_mode_from_name(std::string_view name) {
  return static_cast<NormMode>(index_of(kModeNames, name, "normalization mode"));
}

}  // namespace flexor::schema
