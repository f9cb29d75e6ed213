#include "recap/value_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/dataset_check.h"
#include "data/sampler.h"
#include "recap/sidecar.h"

namespace flexor::recap {
namespace {

constexpr int64_t kEvalSamples = 10000;  // of a dataset to validate on, unless it says otherwise

/// A dataset with what its returns were; targets come when the range is known.
struct Opened {
  ValueDataset dataset;
  ReturnsSidecar sidecar;
};

Opened open_entry(const DatasetEntry& entry, const DataSection& section, int64_t most_samples) {
  const std::string root = resolved_path(section, entry.dataset_path);
  data::Dataset whole =
      data::Dataset::open({.root = root, .episodes = entry.episodes, .rename_map = {}, .columns = {}});
  data::report_findings(data::check_dataset(whole), root);
  ReturnsSidecar sidecar = read_returns(root, section.tag);
  data::Dataset dataset =
      entry.episode_percentage < 100 ? whole.select(chosen_episodes(entry, episode_indices(whole))) : std::move(whole);
  const std::string robot = entry.robot_type.empty() ? section.robot_type : entry.robot_type;
  CameraSlots slots = camera_slots(robot, dataset.cameras(), root);
  const int64_t samples = std::min(dataset.num_frames(), entry.max_samples.value_or(most_samples));
  return {{.name = entry.shown_name(),
           .root = root,
           .dataset = std::move(dataset),
           .slots = std::move(slots),
           .num_samples = samples,
           .weight = entry.weight,
           .targets = {}},
          std::move(sidecar)};
}

void set_targets(Opened& opened, const ReturnRange& range, bool to_minus_one_zero) {
  for (const float value : returns_of(opened.dataset.dataset, opened.sidecar)) {
    opened.dataset.targets.push_back(static_cast<float>(normalized_return(value, range, to_minus_one_zero)));
  }
}

void say(const ValueDataset& dataset, const char* what) {
  const auto [low, high] = std::minmax_element(dataset.targets.begin(), dataset.targets.end());
  log_info(what, {{"name", dataset.name},
                  {"episodes", dataset.dataset.num_episodes()},
                  {"samples", dataset.num_samples},
                  {"target_min", *low},
                  {"target_max", *high}});
}

void warn_of_own_range(const DatasetEntry& entry) {
  if (entry.return_min || entry.return_max) {
    log_warn("return_min and return_max of a dataset are not used: all take the range of the training data",
             {{"dataset", entry.shown_name()}});
  }
}

void refuse_other_slots(const std::vector<ValueDataset>& datasets) {
  for (const ValueDataset& dataset : datasets) {
    if (dataset.slots != datasets.front().slots) {
      throw Error(ErrorKind::kData, str_cat("its cameras stand in other slots than those of ", datasets.front().name),
                  dataset.root, "datasets that are mixed need the same cameras");
    }
  }
}

std::shared_ptr<const data::Mixture> mixture_of(const std::vector<ValueDataset>& datasets) {
  std::vector<data::Mixture::Part> parts;
  for (const ValueDataset& dataset : datasets) {
    parts.push_back({dataset.dataset, 1.0});  // shares are those of RecapOrder
  }
  return std::make_shared<const data::Mixture>(std::move(parts));
}

}  // namespace

std::vector<int64_t> episode_indices(const data::Dataset& dataset) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < dataset.num_episodes(); ++i) {
    all.push_back(dataset.episode(i).episode_index);
  }
  return all;
}

std::vector<int64_t> chosen_episodes(const DatasetEntry& entry, std::vector<int64_t> all) {
  const auto total = static_cast<double>(all.size());
  const auto count = std::max<size_t>(1, static_cast<size_t>(std::floor(total * entry.episode_percentage / 100.0)));
  if (count >= all.size()) {
    return all;
  }
  std::vector<int64_t> places(all.size());
  std::iota(places.begin(), places.end(), 0);
  if (entry.shuffle_episodes) {
    places = data::random_permutation(static_cast<int64_t>(all.size()), static_cast<uint64_t>(entry.episode_seed));
  }
  places.resize(count);
  std::ranges::sort(places);
  std::vector<int64_t> chosen;
  for (const int64_t place : places) {
    chosen.push_back(all[static_cast<size_t>(place)]);
  }
  return chosen;
}

float ValueData::target(int64_t position) const {
  const data::Mixture::Place place = mixture->locate(position);
  return train[static_cast<size_t>(place.part)].targets[static_cast<size_t>(place.position)];
}

ValueData open_value_data(const ValueStep& step) {
  const DataSection& section = step.data;
  std::vector<Opened> train, eval;
  for (const DatasetEntry& entry : section.train_data_paths) {
    warn_of_own_range(entry);
    train.push_back(open_entry(entry, section, std::numeric_limits<int64_t>::max()));
  }
  for (const DatasetEntry& entry : section.eval_data_paths) {
    warn_of_own_range(entry);
    eval.push_back(open_entry(entry, section, kEvalSamples));
  }
  std::vector<const ReturnsSidecar*> sidecars;
  for (const Opened& opened : train) {
    sidecars.push_back(&opened.sidecar);
  }
  ValueData data;
  data.range = common_range(sidecars, section.return_min, section.return_max);
  for (auto& [opened, list, what] :
       {std::tuple(&train, &data.train, "training data"), std::tuple(&eval, &data.eval, "validation data")}) {
    for (Opened& one : *opened) {
      set_targets(one, data.range, section.normalize_to_minus_one_zero);
      say(one.dataset, what);
      list->push_back(std::move(one.dataset));
    }
  }
  refuse_other_slots(data.train);
  data.mixture = mixture_of(data.train);
  return data;
}

}  // namespace flexor::recap
