#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "curate/numeric_scan.h"
#include "curate/stats_source.h"

namespace flexor::curate {

struct WindowOptions {
  int64_t horizon = 1;     ///< actions of a window, > 0
  int64_t batch_size = 1;  ///< windows of a batch
  std::vector<bool> delta_mask = {};
};

/// Reads states and windows of actions as a policy is trained on them: frame i gives state[i] and action[i], ...,
/// action[i + horizon - 1], the last of the episode repeated beyond its end; masked dims minus state[i], in float32.
class ActionWindows {
 public:
  /// @throws Error(kData) when features are missing or have fewer dims than the mask
  ActionWindows(const StatsSource& source, WindowOptions options);

  int64_t state_dim() const { return state_->size(); }
  int64_t action_dim() const { return action_->size(); }

  /// Calls body(states [n, state_dim], actions [n * horizon, action_dim]) batch by batch in the order of the frames;
  /// n = batch_size but for the last batch. May be called again. @throws as for_each_episode()
  using Body = std::function<void(std::span<const float>, std::span<const float>)>;
  void run(const Body& body) const;

 private:
  void append_window(const std::vector<float>& actions, const float* state, int64_t frame,
                     std::vector<float>& out) const;

  const StatsSource& source_;
  WindowOptions options_;
  NumericScan scan_;
  const data::FeatureInfo* state_;
  const data::FeatureInfo* action_;
};

}  // namespace flexor::curate
