#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/prompt.h"

namespace flexor::recap {

/// Which samples are trained with their label in the prompt.
struct RoutingRule {
  double unconditional_prob = 0.1;
  bool positive_only = true;  ///< negative samples never are
};

/// The label that a sample's prompt gets; kNone: it is trained unconditionally, which teaches the policy without label.
/// @param is_positive  the sample's label
/// @param u            uniform in [0, 1); the sample is conditional if u > unconditional_prob, compared in float32
data::AdvantageLabel route(bool is_positive, float u, const RoutingRule& rule);

/// One uniform number in [0, 1) a sample, a function of the seed, the optimizer step and the sample's place in it.
/// @param first  place of the first one
std::vector<float> draw_routing(uint64_t seed, int64_t step, int64_t first, int64_t size);

/// Counts and sums of losses by label and route: the reference's step metrics.
class RoutingMetrics {
 public:
  /// @param labels  of the samples  @param routes  what their prompts said  @param losses  of the samples
  void add(std::span<const uint8_t> labels, std::span<const data::AdvantageLabel> routes,
           std::span<const double> losses);
  void clear() { *this = RoutingMetrics(); }
  /// All of it as numbers that can be added up over ranks, and back.
  std::vector<double> packed() const;
  static RoutingMetrics unpacked(std::span<const double> numbers);
  int64_t samples() const;

  /// conditional_ratio, unconditional_ratio, positive_label_ratio, negative_label_ratio and
  /// {positive,negative}_{conditional,unconditional}_ratio, of all samples;
  /// {positive,negative}_effective_{conditional,unconditional}_ratio, of the samples of that label; mean losses
  /// conditional_loss, unconditional_loss, {positive,negative}_{conditional,unconditional}_loss.
  /// What would be divided by 0 is left out; nothing at all without samples.
  std::map<std::string, double> metrics() const;

 private:
  struct Cell {
    int64_t count = 0;
    double loss = 0;
  };
  Cell cells_[2][2];  ///< [is positive][is conditional]
};

}  // namespace flexor::recap
