#include "curate/openpi_stats.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "curate/action_windows.h"
#include "curate/quantile_counter.h"
#include "curate/running_quantiles.h"

namespace flexor::curate {
namespace {

constexpr std::string_view kState = "state", kActions = "actions";

schema::NormStats running_stats(const ActionWindows& windows, const StatsSource& source,
                                const OpenpiStatsOptions& options) {
  if (source.num_frames < options.batch_size) {
    throw Error(ErrorKind::kData,
                str_cat("the dataset has ", source.num_frames, " frames, a batch ", options.batch_size,
                        ": openpi drops incomplete batches, nothing is left"),
                source.info.root, "--batch-size, or --method exact");
  }
  RunningQuantiles<float> state(windows.state_dim(), RebinRule::kOpenpi);
  RunningQuantiles<float> actions(windows.action_dim(), RebinRule::kOpenpi);
  const auto full = static_cast<size_t>(options.batch_size * windows.state_dim());
  windows.run([&](std::span<const float> states, std::span<const float> rows) {
    if (states.size() == full) {
      state.update(states);
      actions.update(rows);
    }
  });
  return {{std::string(kState), state.stats()}, {std::string(kActions), actions.stats()}};
}

/// Exact statistics of rows that are shown several times.
class ExactRows {
 public:
  ExactRows(int64_t num_rows, int64_t width)
      : num_rows_(num_rows), width_(width), moments_(static_cast<size_t>(width)), counter_(num_rows, 0, width) {}

  bool done() const { return counter_.done(); }
  void begin_pass() { counts_ = counter_.make_counts(); }
  void add(std::span<const float> rows) {
    const int64_t n = static_cast<int64_t>(rows.size()) / width_;
    counter_.count(rows.data(), n, width_, counts_);
    if (is_first_) {
      for (int64_t d = 0; d < width_; ++d) {
        moments_[static_cast<size_t>(d)].add(data::moments_of(rows.data() + d, n, width_));
      }
    }
  }
  void end_pass() {
    counter_.end_pass({std::move(counts_)});
    is_first_ = false;
  }
  schema::FeatureStats stats() const {
    std::vector<data::DimensionStats> dims;
    const std::vector<Quantiles> quantiles = counter_.quantiles();
    for (size_t d = 0; d < moments_.size(); ++d) {
      dims.push_back({moments_[d].min, moments_[d].max, moments_[d].mean, moments_[d].std(), quantiles[d]});
    }
    return data::to_feature_stats(dims, num_rows_);
  }

 private:
  int64_t num_rows_, width_;
  std::vector<data::Moments> moments_;
  QuantileCounter<float> counter_;
  QuantileCounter<float>::Counts counts_;
  bool is_first_ = true;
};

schema::NormStats exact_stats(const ActionWindows& windows, const StatsSource& source, int64_t horizon) {
  ExactRows state(source.num_frames, windows.state_dim());
  ExactRows actions(source.num_frames * horizon, windows.action_dim());
  while (!state.done()) {
    state.begin_pass();
    actions.begin_pass();
    windows.run([&](std::span<const float> states, std::span<const float> rows) {
      state.add(states);
      actions.add(rows);
    });
    state.end_pass();
    actions.end_pass();
  }
  return {{std::string(kState), state.stats()}, {std::string(kActions), actions.stats()}};
}

}  // namespace

std::vector<bool> delta_mask_from(const std::vector<int64_t>& dims) {
  std::vector<bool> mask;
  for (const int64_t n : dims) {
    mask.insert(mask.end(), static_cast<size_t>(std::abs(n)), n > 0);
  }
  return mask;
}

schema::NormStats openpi_stats(const StatsSource& source, const OpenpiStatsOptions& options) {
  const int64_t horizon = std::max<int64_t>(options.horizon, 1);
  const ActionWindows windows(source, {horizon, options.batch_size, options.delta_mask});
  return options.as_openpi ? running_stats(windows, source, options) : exact_stats(windows, source, horizon);
}

std::string norm_stats_text(const schema::NormStats& stats) {
  Json features = Json::object();
  for (const std::string_view name : {kState, kActions}) {
    Json entry = Json::object();
    for (const char* stat : {"mean", "std", "q01", "q99"}) {
      entry[stat] = Json(stats.find(name)->second.at(stat));
    }
    features[name] = std::move(entry);
  }
  return Json::object({{"norm_stats", std::move(features)}}).dump(2) + "\n";
}

}  // namespace flexor::curate
