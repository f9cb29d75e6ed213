#include "curate/stats.h"

#include <utility>

#include "curate/exact_numeric.h"
#include "curate/lerobot_stats.h"

namespace flexor::curate {
namespace {

using Features = std::vector<const data::FeatureInfo*>;

PictureSampling sampling_of(const StatsOptions& options) {
  const bool every = options.method == StatsMethod::kLeRobot04;
  return options.sampling.value_or(every ? PictureSampling::kEveryFrame : PictureSampling::kSampled);
}

void add_numeric(const StatsSource& source, const Features& features, ThreadPool& pool, const StatsOptions& options,
                 DatasetStats& result) {
  if (features.empty()) {
    return;
  }
  if (options.method == StatsMethod::kExact || options.per_episode) {
    ExactNumericStats exact = exact_numeric_stats(source, features, pool, {.per_episode = options.per_episode});
    result.episodes = std::move(exact.episodes);
    result.all = std::move(exact.all);
  }
  if (options.method != StatsMethod::kExact) {
    const auto version = options.method == StatsMethod::kLeRobot ? LeRobotVersion::kNewest : LeRobotVersion::k04;
    result.all = lerobot_numeric_stats(source, features, version, pool);
  }
}

void add_pictures(const StatsSource& source, const Features& cameras, ThreadPool& pool, const StatsOptions& options,
                  DatasetStats& result) {
  if (cameras.empty()) {
    return;
  }
  const auto version = options.method == StatsMethod::kLeRobot04 ? LeRobotVersion::k04 : LeRobotVersion::kNewest;
  std::vector<PictureHistogram> exact(cameras.size());
  std::vector<LeRobotPictureStats> lerobot(cameras.size(), LeRobotPictureStats(version));
  for_each_picture_histogram(source, cameras, sampling_of(options), pool,
                             [&](size_t camera, size_t episode, const PictureHistogram& histogram) {
                               result.num_pictures += histogram.num_pictures();
                               if (options.method == StatsMethod::kExact) {
                                 exact[camera].add(histogram);
                               } else {
                                 lerobot[camera].add(histogram);
                               }
                               if (options.per_episode) {
                                 result.episodes[episode][cameras[camera]->recorded_name] =
                                     without_quantiles(histogram.stats());
                               }
                             });
  for (size_t i = 0; i < cameras.size(); ++i) {
    result.all[cameras[i]->recorded_name] =
        options.method == StatsMethod::kExact ? exact[i].stats() : lerobot[i].stats();
  }
}

}  // namespace

DatasetStats dataset_stats(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features,
                           ThreadPool& pool, const StatsOptions& options) {
  Features numeric, cameras;
  for (const data::FeatureInfo* feature : features) {
    (feature->is_camera() ? cameras : numeric).push_back(feature);
  }
  DatasetStats result;
  add_numeric(source, numeric, pool, options, result);
  result.episodes.resize(options.per_episode ? source.num_episodes() : 0);
  add_pictures(source, cameras, pool, options, result);
  return result;
}

}  // namespace flexor::curate
