#pragma once
#include <ATen/core/Tensor.h>
#include <string>
#include <string_view>
#include <utility>

#include "schema/norm_stats.h"
#include "schema/policy_feature.h"

namespace flexor::data {

/// The two statistics that a mode uses: "mean", "std"; "min", "max"; ... Empty for IDENTITY.
std::pair<std::string_view, std::string_view> stat_names(schema::NormMode mode);

/// Whose formulas. They differ where a denominator is small; LeRobot's checkpoints can only express their own.
enum class NormFormula {
  kLeRobot,  ///< float32, eps only guards zero ranges and is added to std in one direction
  kOpenpi,   ///< float64, eps 1e-6 added to every denominator, both ways; dims beyond the statistics pass unchanged
};

/// Normalises one feature along its last axis (or the channels of pictures) and back. Nothing is clipped.
///
///   mode        LeRobot forward, inverse                               openpi forward; its inverse undoes it
///   IDENTITY    x                                                      x
///   MEAN_STD    (x - mean) / (std + eps),  x * std + mean              (x - mean) / (std + 1e-6)
///   MIN_MAX     2 (x - min) / d - 1,  (x + 1) / 2 * d + min            not part of openpi
///   QUANTILES   the same with q01, q99                                 2 (x - q01) / (q99 - q01 + 1e-6) - 1
///   QUANTILE10  the same with q10, q90                                 not part of openpi
/// where d is the range, replaced by eps if it is exactly zero.
class FeatureNormalizer {
 public:
  FeatureNormalizer() = default;  ///< IDENTITY

  /// @param stats    null: the feature has no statistics at all, which only IDENTITY accepts
  /// @param feature  name and shape; statistics must have that shape ([D], or [3, 1, 1] for pictures)
  /// @throws Error(kData) if the mode needs statistics that are missing, not finite, beyond float32, of another size,
  /// or
  ///         turned around: min > max, std < 0 (hint: how to compute them)
  FeatureNormalizer(const schema::PolicyFeature& feature, schema::NormMode mode, const schema::FeatureStats* stats,
                    double eps, NormFormula formula = NormFormula::kLeRobot);

  at::Tensor normalize(const at::Tensor& x) const;    ///< [..., D], dtype of x; openpi computes in float64
  at::Tensor unnormalize(const at::Tensor& x) const;  ///< the inverse; statistics follow x to its device

 private:
  at::Tensor apply_openpi(const at::Tensor& x, bool inverse) const;

  schema::NormMode mode_ = schema::NormMode::kIdentity;
  NormFormula formula_ = NormFormula::kLeRobot;
  double eps_ = 1e-8;
  at::Tensor low_, high_;  // mean, std; min, max; or the two quantiles
};

}  // namespace flexor::data
