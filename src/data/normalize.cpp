#include "data/normalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

using schema::NormMode;

constexpr double kOpenpiEps = 1e-6;

/// Values that are normalised and what comes back are a few times larger: they must be float32 too.
constexpr double kLargestStat = std::numeric_limits<float>::max() / 16;
constexpr double kStatsRounding = 1e-6;  // of float32 writers, as `flexor dataset verify` allows

constexpr const char* kComputeHint = "compute the statistics again";
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
  for (size_t d = 0; d < values.size(); ++d) {
    if (!(std::abs(values[d]) <= kLargestStat)) {
      throw Error(ErrorKind::kData,
                  str_cat("`", name, "` of ", feature.name, " holds ", values[d], " in dimension ", d,
                          std::isfinite(values[d]) ? ", which float32 cannot normalise by" : ""),
                  where, kComputeHint);
    }
  }
  const Tensor tensor = at::tensor(values, at::kDouble);
  const Tensor shaped = feature.type == schema::FeatureType::kVisual ? tensor.view({-1, 1, 1}) : tensor;
  return formula == NormFormula::kOpenpi ? shaped : shaped.to(at::kFloat);
}

/// The two statistics that a mode uses: a range that is turned around, or an std below 0, would mirror the feature.
void check_order(const schema::PolicyFeature& feature, NormMode mode, const schema::FeatureStats& stats,
                 size_t num_dims) {
  const auto [low_name, high_name] = stat_names(mode);
  const std::string where = str_cat("statistics of ", feature.name);
  const std::vector<double>&low = stats.at(low_name), &high = stats.at(high_name);
  for (size_t d = 0; d < std::min({num_dims, low.size(), high.size()}); ++d) {
    if (mode == NormMode::kMeanStd && high[d] < 0) {
      throw Error(ErrorKind::kData,
                  str_cat("`std` of ", feature.name, ", dimension ", d, ": expected 0 or more, found ", high[d]), where,
                  kComputeHint);
    }
    const double rounding = kStatsRounding * std::max({1.0, std::abs(low[d]), std::abs(high[d])});
    if (mode != NormMode::kMeanStd && low[d] > high[d] + rounding) {
      throw Error(ErrorKind::kData,
                  str_cat("`", high_name, "` of ", feature.name, ", dimension ", d, ": expected at least ", low_name,
                          " = ", low[d], ", found ", high[d]),
                  where, kComputeHint);
    }
  }
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
  check_order(feature, mode, *stats, static_cast<size_t>(std::min(low_.size(0), high_.size(0))));
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
