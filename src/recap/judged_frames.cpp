#include "recap/judged_frames.h"

#include <algorithm>
#include <utility>

#include "recap/judged_dataset.h"

namespace flexor::recap {
namespace {

void widen(std::optional<ReturnRange>& range, const ReturnRange& other) {
  range = range ? ReturnRange{std::min(range->min, other.min), std::max(range->max, other.max)} : other;
}

/// Given in the configuration, noted by the labels, else over the returns.
std::optional<ReturnRange> range_of(const RecapConfig& config, const JudgedRun& run, std::optional<ReturnRange> found) {
  for (const JudgedDataset& dataset : run.datasets) {
    const Json* low = dataset.made_by.find("return_min");
    const Json* high = dataset.made_by.find("return_max");
    if (low != nullptr && high != nullptr && low->is_number() && high->is_number()) {
      return ReturnRange{low->as_double(), high->as_double()};
    }
  }
  if (!found) {
    for (const JudgedDataset& dataset : run.datasets) {
      if (!dataset.returns.empty()) {
        const auto [low, high] = std::minmax_element(dataset.returns.begin(), dataset.returns.end());
        widen(found, {*low, *high});
      }
    }
  }
  if (found) {
    found->min = config.advantages.data.return_min.value_or(found->min);
    found->max = config.advantages.data.return_max.value_or(found->max);
  }
  return found;
}

template <typename Condition>
bool any(const std::vector<JudgedDataset>& datasets, const Condition& condition) {
  return std::any_of(datasets.begin(), datasets.end(), condition);
}

}  // namespace

std::string_view kind_name(EpisodeKind kind) {
  constexpr std::string_view kNames[] = {"demonstrations", "successes", "failures", "no outcome"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view kind_singular(EpisodeKind kind) {
  constexpr std::string_view kNames[] = {"demonstration", "success", "failure", "no outcome"};
  return kNames[static_cast<size_t>(kind)];
}

bool JudgedDataset::is_steam() const {
  return !disagreement.empty();
}

bool JudgedRun::has_returns() const {
  return any(datasets, [](const JudgedDataset& dataset) { return !dataset.returns.empty(); });
}

bool JudgedRun::has_values() const {
  return any(datasets, [](const JudgedDataset& dataset) { return !dataset.values.empty(); });
}

bool JudgedRun::has_scores() const {
  return any(datasets, [](const JudgedDataset& dataset) { return !dataset.scores.empty(); });
}

bool JudgedRun::is_steam() const {
  return any(datasets, [](const JudgedDataset& dataset) { return dataset.is_steam(); });
}

float JudgedRun::target(float return_value) const {
  return static_cast<float>(normalized_return(return_value, range.value_or(ReturnRange{}), to_minus_one_zero));
}

JudgedRun read_judged(const RecapConfig& config) {
  JudgedRun run;
  run.to_minus_one_zero = config.value.data.normalize_to_minus_one_zero;
  std::optional<ReturnRange> range;
  for (const DatasetEntry& entry : config.advantages.data.train_data_paths) {
    auto [dataset, of_dataset] = read_judged_dataset(config, entry, run);
    run.datasets.push_back(std::move(dataset));
    if (of_dataset) {
      widen(range, *of_dataset);
    }
  }
  run.range = range_of(config, run, range);
  return run;
}

}  // namespace flexor::recap
