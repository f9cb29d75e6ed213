#include "data/mixture.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset_stats.h"
#include "schema/policy_feature.h"

namespace flexor::data {
namespace {

[[noreturn]] void differ(const Dataset& a, const Dataset& b, const std::string& what,
                         const std::string& hint = "give cameras and features the same names with rename_map") {
  throw Error(ErrorKind::kData, str_cat("the datasets of the mixture differ in ", what),
              str_cat(a.root(), " and ", b.root()), hint);
}

std::string camera_names(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const FeatureInfo& camera : dataset.cameras()) {
    names.push_back(camera.name);
  }
  return join_text(names, ", ");
}

std::vector<int64_t> match_cameras(const Dataset& first, const Dataset& other) {
  std::vector<int64_t> indices;
  for (const FeatureInfo& camera : first.cameras()) {
    const auto found = std::find_if(other.cameras().begin(), other.cameras().end(),
                                    [&](const FeatureInfo& candidate) { return candidate.name == camera.name; });
    if (found != other.cameras().end()) {
      indices.push_back(found - other.cameras().begin());
    }
  }
  if (indices.size() != first.cameras().size() || indices.size() != other.cameras().size()) {
    differ(first, other, str_cat("their cameras: ", camera_names(first), " and ", camera_names(other)));
  }
  return indices;
}

void check_columns(const Dataset& first, const Dataset& other) {
  if (!(first.info().fps == other.info().fps)) {
    differ(first, other, str_cat("fps: ", first.fps(), " and ", other.fps()),
           "a mixture has one rate: train on the datasets apart");
  }
  for (const std::string_view name : {schema::kStateKey, schema::kActionKey}) {
    const int64_t a = first.has_column(name) ? first.width(name) : 0,
                  b = other.has_column(name) ? other.width(name) : 0;
    if (a != b) {
      differ(first, other, str_cat("the size of ", name, ": ", a, " and ", b));
    }
  }
}

}  // namespace

Mixture::Mixture(Dataset dataset) : Mixture(std::vector<Part>{{std::move(dataset), 1.0}}) {}

Mixture::Mixture(std::vector<Part> parts) : parts_(std::move(parts)), starts_(1, 0) {
  if (parts_.empty()) {
    throw Error(ErrorKind::kConfig, "the mixture has no dataset", "dataset.mix");
  }
  double sum = 0;
  for (const Part& part : parts_) {
    if (!(std::isfinite(part.weight) && part.weight > 0)) {
      throw Error(ErrorKind::kConfig,
                  str_cat("weight ", part.weight, " of ", part.dataset.root(), ", expected a positive number"),
                  "dataset.mix");
    }
    if (part.dataset.num_frames() == 0) {
      throw Error(ErrorKind::kData, "the dataset has no frames", part.dataset.root());
    }
    check_columns(parts_[0].dataset, part.dataset);
    cameras_.push_back(match_cameras(parts_[0].dataset, part.dataset));
    starts_.push_back(starts_.back() + part.dataset.num_frames());
    sum += part.weight;
  }
  for (const Part& part : parts_) {
    shares_.push_back(part.weight / sum);
  }
}

int64_t Mixture::num_episodes() const {
  int64_t count = 0;
  for (const Part& part : parts_) {
    count += part.dataset.num_episodes();
  }
  return count;
}

Mixture::Place Mixture::locate(int64_t position) const {
  if (position < 0 || position >= num_frames()) {
    throw Error(ErrorKind::kRuntime, str_cat("frame ", position, " of ", num_frames()));
  }
  const int64_t part = std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
  return {part, position - first_position(part)};
}

schema::NormStats Mixture::stats() const {
  if (parts_.size() == 1) {
    return parts_[0].dataset.stats();
  }
  std::vector<schema::NormStats> stats;
  for (const Part& part : parts_) {
    stats.push_back(part.dataset.stats());
    for (auto& [name, feature] : stats.back()) {  // v2.0 stores no counts
      feature.values.try_emplace("count", 1, static_cast<double>(part.dataset.num_frames()));
    }
  }
  schema::NormStats merged = aggregate_stats(stats);
  std::erase_if(merged, [&](const auto& entry) {
    return std::any_of(stats.begin(), stats.end(),
                       [&](const schema::NormStats& part) { return !part.contains(entry.first); });
  });
  for (auto& [name, feature] : merged) {
    std::erase_if(feature.values, [](const auto& stat) { return stat.first.starts_with("q"); });
  }
  return merged;
}

}  // namespace flexor::data
