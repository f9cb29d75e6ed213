#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/dataset_info.h"
#include "schema/norm_stats.h"

namespace flexor::curate {

/// A dimension that normalisation treats badly.
struct DimensionNote {
  enum class Kind {
    kConstant,        ///< one value
    kNearlyConstant,  ///< spread below 1e-4 of its size: noise becomes the signal
    kSparse,          ///< at least 80 % of the frames hold one value (q10 = q90)
  };
  std::string feature;
  int64_t dimension = 0;
  std::string name;  ///< of the dimension; may be empty
  Kind kind = Kind::kConstant;
  double min = 0, max = 0, std = 0;
  /// Normalisation mode ("MEAN_STD", "MIN_MAX", "QUANTILES", "QUANTILE10") -> what min and max become, by the formulas
  /// of data/normalize.h.
  struct Normalized {
    std::string_view mode;
    double min, max;
  };
  std::vector<Normalized> normalized;
};
std::string_view kind_name(DimensionNote::Kind kind);  ///< "constant", "nearly_constant", "sparse"

/// Notes on all features of floats; pictures, integers, booleans and the index columns are never normalised so.
/// @param stats  by recorded names, with quantiles
std::vector<DimensionNote> dimension_notes(const schema::NormStats& stats,
                                           const std::vector<data::FeatureInfo>& features);

Json to_json(const DimensionNote& note);
/// A line for each feature's constant dimensions together, then one for each other dimension, with what the modes make
/// of it: "action[6] (gripper): sparse, ...; QUANTILE10 maps 0 .. 1 to -1 .. 2e+08".
std::vector<std::string> describe(const std::vector<DimensionNote>& notes);

}  // namespace flexor::curate
