#include "data/normalize.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

using schema::NormMode;

constexpr double kOpenpiEps = 1e-6;

constexpr const char* kStatsHint =
    "flexor computes what a dataset lacks when it trains; a policy folder must hold its statistics";

/// @param width  values that the feature needs: its first axis
Tensor stat_tensor(const schema::PolicyFeature& feature, NormMode mode, const schema::FeatureStats* stats,
                   std::string_view name, NormFormula formula) {
  const std::string where = str_cat("statistics of ", feature.name);
  if (stats == nullptr || !stats->has(name)) {
    throw Error(ErrorKind::kData,
                str_cat(schema::norm_mode_name(mode), " needs `", name, "` of ", feature.name, ", there is ",
                        stats == nullptr ? "no statistics of it at all" : "none"),
                where, kStatsHint);
  }
  std::vector<double> values = stats->at(name);
  const size_t width = feature.shape.empty() ? 1 : static_cast<size_t>(feature.shape[0]);
  if (formula == NormFormula::kOpenpi && values.size() > width) {
    values.resize(width);
  }
  if (values.size() != width && !(formula == NormFormula::kOpenpi && values.size() < width)) {
    throw Error(
        ErrorKind::kData,
        str_cat("`", name, "` of ", feature.name, " has ", values.size(), " values, the policy's feature has ", width),
        where, "the statistics belong to another dataset or robot");
  }
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::kData, str_cat("`", name, "` of ", feature.name, " holds ", value), where,
                  "compute the statistics again");
    }
  }
  const Tensor tensor = at::tensor(values, at::kDouble);
  const Tensor shaped = feature.type == schema::FeatureType::kVisual ? tensor.view({-1, 1, 1}) : tensor;
  return formula == NormFormula::kOpenpi ? shaped : shaped.to(at::kFloat);
}

}  // namespace

std::pair<std::string_view, std::string_view> stat_names(NormMode mode) {
  switch (mode) {
    case NormMode::kMeanStd:
      return {"mean", "std"};
    case NormMode::kMinMax:
      return {"min", "max"};
    case NormMode::kQuantiles:
      return {"q01", "q99"};
    case NormMode::kQuantile10:
      return {"q10", "q90"};
    case NormMode::kIdentity:
      break;
  }
  return {};
}

FeatureNormalizer::FeatureNormalizer(const schema::PolicyFeature& feature, NormMode mode,
                                     const schema::FeatureStats* stats, double eps, NormFormula formula)
    : mode_(mode), formula_(formula), eps_(eps) {
  if (mode == NormMode::kIdentity) {
    return;
  }
  if (formula == NormFormula::kOpenpi && mode != NormMode::kMeanStd && mode != NormMode::kQuantiles) {
    throw Error(ErrorKind::kConfig, str_cat("openpi has no ", schema::norm_mode_name(mode), " normalisation"),
                "policy.normalization_mapping", "MEAN_STD or QUANTILES");
  }
  const auto [low, high] = stat_names(mode);
  low_ = stat_tensor(feature, mode, stats, low, formula);
  high_ = stat_tensor(feature, mode, stats, high, formula);
}

// The order of operations is LeRobot's (processor/normalize_processor.py _apply_transform): results are equal to the
// bit.
Tensor FeatureNormalizer::normalize(const Tensor& x) const {
  if (mode_ == NormMode::kIdentity) {
    return x;
  }
  if (formula_ == NormFormula::kOpenpi) {
    return apply_openpi(x, /*inverse=*/false);
  }
  const Tensor low = low_.to(x.device()), high = high_.to(x.device());
  if (mode_ == NormMode::kMeanStd) {
    return (x - low) / (high + eps_);
  }
  const Tensor range = high - low, divisor = range.masked_fill(range == 0, eps_);
  return (x - low) * 2.0 / divisor - 1.0;
}

Tensor FeatureNormalizer::unnormalize(const Tensor& x) const {
  if (mode_ == NormMode::kIdentity) {
    return x;
  }
  if (formula_ == NormFormula::kOpenpi) {
    return apply_openpi(x, /*inverse=*/true);
  }
  const Tensor low = low_.to(x.device()), high = high_.to(x.device());
  if (mode_ == NormMode::kMeanStd) {
    return x * high + low;
  }
  const Tensor range = high - low, divisor = range.masked_fill(range == 0, eps_);
  if (mode_ == NormMode::kMinMax) {
    return (x + 1.0) / 2.0 * divisor + low;
  }
  return (x + 1.0) * divisor / 2.0 + low;
}

Tensor FeatureNormalizer::apply_openpi(const Tensor& x, bool inverse) const {
  const int64_t width = std::min<int64_t>(x.size(-1), low_.size(0));
  const Tensor low = low_.narrow(0, 0, width).to(x.device()), high = high_.narrow(0, 0, width).to(x.device());
  const Tensor head = x.narrow(-1, 0, width).to(at::kDouble);
  Tensor result;
  if (mode_ == NormMode::kMeanStd) {
    result = inverse ? head * (high + kOpenpiEps) + low : (head - low) / (high + kOpenpiEps);
  } else {
    const Tensor range = high - low + kOpenpiEps;
    result = inverse ? (head + 1.0) / 2.0 * range + low : (head - low) / range * 2.0 - 1.0;
  }
  if (width < x.size(-1)) {
    result = at::cat({result, x.narrow(-1, width, x.size(-1) - width).to(at::kDouble)}, -1);
  }
  return result.to(x.scalar_type());
}

}  // namespace flexor::data
