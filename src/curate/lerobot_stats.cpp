#include "curate/lerobot_stats.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "curate/episode_values.h"
#include "data/data_file.h"
#include "data/dataset_stats.h"

namespace flexor::curate {
namespace {

/// LeRobot hands out floats as float32 and integers as int64; NumPy takes bin edges of integers as float64. Booleans
/// are float32 in the newest release, before they were treated as integers.
bool has_float_edges(const data::FeatureInfo& feature, LeRobotVersion version) {
  const NumericValues values = data::empty_column(feature).values;
  if (std::holds_alternative<std::vector<uint8_t>>(values)) {
    return version == LeRobotVersion::kNewest;
  }
  return !std::holds_alternative<std::vector<int64_t>>(values);
}

/// Of a matrix, its rows are samples.
int64_t sample_width(const data::FeatureInfo& feature) {
  return feature.shape.empty() ? 1 : feature.shape.back();
}

template <typename Edge>
schema::FeatureStats newest_stats(const StatsSource& source, const NumericScan& scan,
                                  const data::FeatureInfo& feature) {
  RunningQuantiles<Edge> running(sample_width(feature), RebinRule::kLeRobot);
  for_each_episode(source, scan, {&feature}, [&](size_t, const std::vector<NumericValues>& values) {
    running.update(std::span<const Edge>(values_as<Edge>(values[0])));
  });
  schema::FeatureStats stats = running.stats();
  stats.values["count"] = {static_cast<double>(source.num_frames)};
  return stats;
}

template <typename Edge>
schema::FeatureStats averaged_stats(const StatsSource& source, const NumericScan& scan,
                                    const data::FeatureInfo& feature) {
  std::vector<schema::NormStats> episodes;
  for_each_episode(source, scan, {&feature}, [&](size_t episode, const std::vector<NumericValues>& values) {
    RunningQuantiles<Edge> running(sample_width(feature), RebinRule::kLeRobot);
    running.update(std::span<const Edge>(values_as<Edge>(values[0])));
    schema::FeatureStats stats = running.stats();
    stats.values["count"] = {static_cast<double>(source.rows[episode].count)};
    episodes.push_back({{feature.recorded_name, std::move(stats)}});
  });
  return data::aggregate_stats(episodes, data::QuantileMerge::kWeightedMean).at(feature.recorded_name);
}

RunningQuantiles<float>::Levels levels_of(const PictureHistogram& histogram, int channel) {
  RunningQuantiles<float>::Levels levels;
  for (int level = 0; level < 256; ++level) {
    levels.values.push_back(static_cast<float>(level) / 255.0F);
    levels.counts.push_back(histogram.levels(channel)[static_cast<size_t>(level)]);
  }
  return levels;
}

}  // namespace

schema::NormStats lerobot_numeric_stats(const StatsSource& source,
                                        const std::vector<const data::FeatureInfo*>& features, LeRobotVersion version,
                                        ThreadPool& pool) {
  const NumericScan scan(source);
  std::vector<schema::FeatureStats> stats(features.size());
  pool.parallel_for(static_cast<int64_t>(features.size()), [&](int64_t i) {
    const data::FeatureInfo& feature = *features[static_cast<size_t>(i)];
    const bool is_float = has_float_edges(feature, version);
    if (version == LeRobotVersion::kNewest) {
      stats[static_cast<size_t>(i)] =
          is_float ? newest_stats<float>(source, scan, feature) : newest_stats<double>(source, scan, feature);
    } else {
      stats[static_cast<size_t>(i)] =
          is_float ? averaged_stats<float>(source, scan, feature) : averaged_stats<double>(source, scan, feature);
    }
  });
  schema::NormStats result;
  for (size_t i = 0; i < features.size(); ++i) {
    result[features[i]->recorded_name] = std::move(stats[i]);
  }
  return result;
}

LeRobotPictureStats::LeRobotPictureStats(LeRobotVersion version)
    : version_(version), running_(3, RebinRule::kLeRobot) {}

void LeRobotPictureStats::add(const PictureHistogram& episode) {
  const std::vector<RunningQuantiles<float>::Levels> channels = {levels_of(episode, 0), levels_of(episode, 1),
                                                                 levels_of(episode, 2)};
  num_pictures_ += episode.num_pictures();
  if (version_ == LeRobotVersion::kNewest) {
    running_.update(channels);
    return;
  }
  RunningQuantiles<float> of_episode(3, RebinRule::kLeRobot);
  of_episode.update(channels);
  schema::FeatureStats stats = of_episode.stats();
  stats.values["count"] = {static_cast<double>(episode.num_pictures())};
  episodes_.push_back({{"camera", std::move(stats)}});
}

schema::FeatureStats LeRobotPictureStats::stats() const {
  if (num_pictures_ == 0) {
    throw Error(ErrorKind::kData, "no pictures to compute statistics from");
  }
  schema::FeatureStats stats = version_ == LeRobotVersion::kNewest
                                   ? running_.stats()
                                   : data::aggregate_stats(episodes_, data::QuantileMerge::kWeightedMean).at("camera");
  stats.values["count"] = {static_cast<double>(num_pictures_)};
  stats.shape = {3, 1, 1};
  return stats;
}

}  // namespace flexor::curate
