#include "curate/rewritten_stats.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/json.h"
#include "curate/episode_stats.h"
#include "curate/missing_stats.h"
#include "curate/stats_json.h"
#include "data/dataset_stats.h"

namespace flexor::curate {
namespace {

constexpr size_t kPartsAtOnce = 256;  ///< episodes that are put together at a time

/// Whether statistics say the same, but for rounding.
bool is_close(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) {
    const auto holds = [&b](const Json::Member& member) {
      const Json* other = b.find(member.first);
      return other && is_close(member.second, *other);
    };
    return a.size() == b.size() && std::all_of(a.as_object().begin(), a.as_object().end(), holds);
  }
  constexpr double kRounding = 1e-6;  // some writers sum in float32
  const std::vector<double> p = a.as_numbers(), q = b.as_numbers();
  return std::equal(p.begin(), p.end(), q.begin(), q.end(), [](double x, double y) {
    return x == y || std::abs(x - y) <= kRounding * std::max(std::abs(x), std::abs(y));
  });
}

}  // namespace

RewrittenStats::RewrittenStats(const RewritePlan& plan, TargetVersion version, const std::vector<TableColumn>& columns,
                               const std::vector<RowChanges>& changes)
    : plan_(plan), version_(version), columns_(columns), changes_(changes), computed_(plan.episodes.size()) {
  for (const SourceDataset* source : plan.sources) {
    stored_.emplace_back(source->info);
  }
}

std::vector<Job> RewrittenStats::missing_jobs() {
  std::vector<size_t> missing;
  for (size_t i = 0; i < plan_.episodes.size(); ++i) {
    const StoredStats& stored = stored_[plan_.episodes[i].source];
    if (!stored.has(plan_.episode(i).episode_index)) {
      missing.push_back(i);
    }
  }
  constexpr size_t kEpisodesPerJob = 4;
  std::vector<Job> jobs;
  for (size_t first = 0; first < missing.size(); first += kEpisodesPerJob) {
    const std::vector<size_t> numbers(
        missing.begin() + static_cast<std::ptrdiff_t>(first),
        missing.begin() + static_cast<std::ptrdiff_t>(std::min(first + kEpisodesPerJob, missing.size())));
    jobs.emplace_back([this, numbers] {
      MissingStats stats(plan_, columns_);
      for (const size_t number : numbers) {
        check_interrupt();
        computed_[number] = stats.compute(number);
      }
    });
  }
  return jobs;
}

schema::NormStats RewrittenStats::read(size_t number) {
  schema::NormStats stats;
  if (computed_[number]) {
    stats = *computed_[number];
    if (version_ == TargetVersion::kV21) {
      std::for_each(stats.begin(), stats.end(),
                    [](auto& feature) { feature.second = without_quantiles(std::move(feature.second)); });
    }
  } else {
    stats = stored_[plan_.episodes[number].source].read(plan_.episode(number).episode_index);
    renumber_stats(plan_, number, changes_[number], stats);
  }
  for (const std::string& camera : plan_.model().absent_cameras) {
    stats.erase(camera);
  }
  if (plan_.episode(number).length > 0) {
    parts_.push_back(stats);
  }
  if (parts_.size() >= kPartsAtOnce) {
    flush();
  }
  return stats;
}

void RewrittenStats::restart() {
  parts_.clear();
}

void RewrittenStats::flush() {
  schema::NormStats together = data::aggregate_stats(parts_);
  parts_.clear();
  parts_.push_back(std::move(together));
}

bool RewrittenStats::has_changed(const std::string& feature) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const RowChanges& change) {
    return (feature == "timestamp" && change.start_s != 0) || (feature == "task_index" && !change.task_indices.empty());
  });
}

Json RewrittenStats::kept_total(Json total) const {
  const data::DatasetInfo& source = plan_.model().info;
  const std::string path = source.root + "/meta/stats.json";
  if (!plan_.is_whole() || !std::filesystem::exists(path)) {
    return total;
  }
  const bool lacks_counts = source.major == 2 && source.minor == 0;
  const auto& absent = plan_.model().absent_cameras;
  const Json stored = Json::read_file(path);
  for (const auto& [name, feature] : stored.as_object()) {
    const Json* of_episodes = total.find(name);
    const bool is_outdated = of_episodes && (lacks_counts || has_changed(name));
    if (!is_outdated && std::find(absent.begin(), absent.end(), name) == absent.end()) {
      total[name] = feature;
    }
  }
  return total;
}

Json RewrittenStats::total() {
  flush();
  const Json of_episodes = stats_json(parts_[0], plan_.model().info.features);
  Json total = kept_total(of_episodes);
  if (version_ == TargetVersion::kV30) {
    return total.size() > 0 ? total : Json();
  }
  const bool says_more =
      std::any_of(total.as_object().begin(), total.as_object().end(), [&](const Json::Member& member) {
        const Json* known = of_episodes.find(member.first);
        return !known || !is_close(*known, member.second);
      });
  return says_more ? total : Json();
}

}  // namespace flexor::curate
