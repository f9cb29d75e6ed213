#include "recap/steam_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/dataset_check.h"
#include "recap/returns_scan.h"
#include "recap/value_data.h"
#include "tensor/rng.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kStrideStream = 3, kFixedStream = 4;

std::vector<int64_t> episodes_of(const data::Dataset& dataset) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < dataset.num_episodes(); ++i) {
    all.push_back(dataset.episode(i).episode_index);
  }
  return all;
}

/// Those episodes that were successes. @throws Error(kData) if none was
std::vector<int64_t> successful(const std::vector<int64_t>& episodes, const std::string& root,
                                const DatasetEntry& entry, const std::string& type) {
  std::map<int64_t, bool> success;
  for (const ScannedEpisode& episode : scan_for_returns(root, entry, type, /*num_threads=*/1).episodes) {
    success[episode.episode_index] = episode.success;
  }
  std::vector<int64_t> kept;
  std::ranges::copy_if(episodes, std::back_inserter(kept), [&](int64_t episode) { return success[episode]; });
  if (kept.empty()) {
    throw Error(ErrorKind::kData, "no episode was a success, and actor.steam.only_success is set", root,
                "actor.steam.only_success=false");
  }
  return kept;
}

SteamDataset open_entry(const DatasetEntry& entry, const ValueStep& step) {
  const DataSection& section = step.data;
  const std::string root = resolved_path(section, entry.dataset_path);
  data::Dataset whole =
      data::Dataset::open({.root = root, .episodes = entry.episodes, .rename_map = {}, .columns = {}});
  data::report_findings(data::check_dataset(whole), root);
  std::vector<int64_t> chosen = chosen_episodes(entry, episodes_of(whole));
  if (step.actor.steam.only_success) {
    chosen = successful(chosen, root, entry, entry.type.empty() ? section.dataset_type : entry.type);
  }
  const std::string robot = entry.robot_type.empty() ? section.robot_type : entry.robot_type;
  SteamDataset opened{.name = entry.shown_name(),
                      .root = root,
                      .dataset = whole.select(chosen),
                      .slots = camera_slots(robot, whole.cameras(), root),
                      .weight = entry.weight,
                      .max_samples = entry.max_samples,
                      .first_anchor = {0}};
  for (int64_t i = 0; i < opened.dataset.num_episodes(); ++i) {
    opened.first_anchor.push_back(opened.first_anchor.back() +
                                  std::max<int64_t>(0, opened.dataset.episode(i).length - 1));
  }
  if (opened.num_items() == 0) {
    throw Error(ErrorKind::kData, "no episode has two frames", root);
  }
  log_info("data of the ensemble",
           {{"name", opened.name}, {"episodes", opened.dataset.num_episodes()}, {"pairs", opened.num_items()}});
  return opened;
}

/// Percentile with linear interpolation, NumPy's default.
double percentile(std::vector<double> values, double percent) {
  std::ranges::sort(values);
  const double place = percent / 100.0 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place)), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - std::floor(place));
}

}  // namespace

SteamData open_steam_data(const ValueStep& step) {
  StrideBins{step.actor.steam.k, step.actor.steam.num_bins}.check();
  SteamData data;
  std::vector<double> lengths;
  std::vector<data::Mixture::Part> parts;
  for (const DatasetEntry& entry : step.data.train_data_paths) {
    data.train.push_back(open_entry(entry, step));
    const SteamDataset& opened = data.train.back();
    if (opened.slots != data.train.front().slots) {
      throw Error(ErrorKind::kData, "its cameras stand in other slots than those of the first dataset", opened.root,
                  "datasets that are mixed need the same cameras");
    }
    for (int64_t i = 0; i < opened.dataset.num_episodes(); ++i) {
      lengths.push_back(static_cast<double>(opened.dataset.episode(i).length));
    }
    parts.push_back({opened.dataset, 1.0});
  }
  for (const DatasetEntry& entry : step.data.eval_data_paths) {
    data.eval.push_back(open_entry(entry, step));
  }
  data.mixture = std::make_shared<const data::Mixture>(std::move(parts));
  data.reference_length = percentile(lengths, step.actor.steam.length_scale_percentile);
  return data;
}

SteamPair steam_pair(const SteamDataset& dataset, int64_t item, uint64_t draw, const SteamSection& section,
                     double reference_length) {
  const int64_t anchor = item / 2;
  const bool reversed = item % 2 == 1;
  const auto next = std::upper_bound(dataset.first_anchor.begin(), dataset.first_anchor.end(), anchor);
  const auto episode = static_cast<int64_t>(next - dataset.first_anchor.begin()) - 1;
  const int64_t t = anchor - dataset.first_anchor[static_cast<size_t>(episode)];
  const int64_t T = dataset.dataset.episode(episode).length;
  const int64_t longest = std::min(section.k, T - 1 - t);
  const int64_t start = dataset.dataset.first_position(episode);
  SteamPair pair{start + t, start + t + longest, 0};
  if (section.num_bins == 2) {
    pair.label = reversed ? 0 : 1;
  } else {
    const StrideBins bins{section.k, section.num_bins};
    const int64_t stride = 1 + static_cast<int64_t>(draw % static_cast<uint64_t>(longest));
    const int64_t signed_stride = reversed ? -stride : stride;
    pair.second = pair.first + stride;
    pair.label = section.length_scale_enabled
                     ? bins.scaled_bin(static_cast<double>(signed_stride) *
                                       std::max(1.0, reference_length / static_cast<double>(T)))
                     : bins.bin(signed_stride);
  }
  if (reversed) {
    std::swap(pair.first, pair.second);
  }
  return pair;
}

SteamOrder::SteamOrder(std::shared_ptr<const SteamData> data, const SteamSection& section, uint64_t seed,
                       std::shared_ptr<const data::BatchOrder> items, std::shared_ptr<const RecapOrder> drawn)
    : data_(std::move(data)),
      section_(section),
      seed_(seed),
      items_(std::move(items)),
      drawn_(std::move(drawn)),
      first_item_{0} {
  for (const SteamDataset& dataset : data_->train) {
    first_item_.push_back(first_item_.back() + dataset.num_items());
  }
}

SteamOrder::SteamOrder(std::shared_ptr<const SteamData> data, const SteamSection& section, uint64_t seed,
                       std::shared_ptr<const RecapOrder> items)
    : SteamOrder(std::move(data), section, seed, items, items) {}

SteamOrder SteamOrder::with_fixed_strides(std::shared_ptr<const SteamData> data, const SteamSection& section,
                                          uint64_t seed, std::shared_ptr<const data::BatchOrder> items) {
  return {std::move(data), section, seed, std::move(items), nullptr};
}

std::vector<SteamOrder::Placed> SteamOrder::pairs(int64_t step) const {
  std::vector<Placed> result;
  const Batch items = items_->batch(step);
  const RecapOrder::StepPlace at = drawn_ ? drawn_->step_place(step) : RecapOrder::StepPlace{};
  for (size_t i = 0; i < items.positions.size(); ++i) {
    const int64_t item = items.positions[i];
    const auto next = std::upper_bound(first_item_.begin(), first_item_.end(), item);
    const auto part = static_cast<size_t>(next - first_item_.begin()) - 1;
    const uint64_t draw =
        drawn_ ? stream_seed(seed_, kStrideStream, static_cast<uint64_t>(at.step), static_cast<uint64_t>(at.first) + i)
               : stream_seed(seed_, kFixedStream, static_cast<uint64_t>(item));
    result.push_back({steam_pair(data_->train[part], item - first_item_[part], draw, section_, data_->reference_length),
                      data_->mixture->first_position(static_cast<int64_t>(part))});
  }
  return result;
}

data::BatchOrder::Batch SteamOrder::batch(int64_t step) const {
  const std::vector<Placed> placed = pairs(step);
  Batch batch = items_->batch(step);
  batch.first_index *= 2;  // two pictures a pair draw their augmentation
  batch.positions.clear();
  for (const Placed& p : placed) {
    batch.positions.push_back(p.offset + p.pair.first);
  }
  for (const Placed& p : placed) {
    batch.positions.push_back(p.offset + p.pair.second);
  }
  return batch;
}

std::vector<int64_t> SteamOrder::labels(int64_t step) const {
  std::vector<int64_t> labels;
  for (const Placed& p : pairs(step)) {
    labels.push_back(p.pair.label);
  }
  return labels;
}

}  // namespace flexor::recap
