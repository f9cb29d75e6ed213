#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "data/dataset_stats.h"
#include "data/dimension_stats.h"
#include "schema/policy_feature.h"

namespace flexor::data {
namespace {

/// One dimension of a column over the selected frames of all datasets, in order.
std::vector<double> gather(const std::vector<Dataset>& datasets, const std::string& name, int64_t dim) {
  std::vector<double> values;
  for (const Dataset& dataset : datasets) {
    const Column& column = dataset.column(name);
    for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
      const Episode& episode = dataset.episode(number);
      for (int64_t frame = 0; frame < episode.length; ++frame) {
        values.push_back(column.at(dataset.first_row(number) + frame, dim));
        if (!std::isfinite(values.back())) {
          throw Error(ErrorKind::kData, str_cat(name, " holds ", values.back(), " in dimension ", dim),
                      str_cat(episode.data_file, ", episode ", episode.episode_index, ", frame ", frame),
                      "leave the episode out with dataset.episodes, or repair the recording");
        }
      }
    }
  }
  return values;
}

schema::FeatureStats column_stats(const std::vector<Dataset>& datasets, const std::string& name, ThreadPool& pool) {
  const int64_t width = datasets[0].width(name);
  int64_t frames = 0;
  for (const Dataset& dataset : datasets) {
    frames += dataset.num_frames();
    if (dataset.width(name) != width) {
      throw Error(ErrorKind::kData, str_cat(name, " has ", dataset.width(name), " values in ", dataset.root(), ", ",
                                            width, " in ", datasets[0].root()));
    }
  }
  if (frames == 0) {
    throw Error(ErrorKind::kData, str_cat("no frames to compute the statistics of ", name, " from"),
                datasets[0].root());
  }
  std::vector<DimensionStats> dims(static_cast<size_t>(width));
  pool.parallel_for(width,
                    [&](int64_t d) { dims[static_cast<size_t>(d)] = dimension_stats(gather(datasets, name, d)); });
  return to_feature_stats(dims, frames);
}

/// Places of the chunks that relative statistics are taken from.
struct ChunkStart {
  size_t dataset;
  int64_t row, length;  ///< table row of the chunk's first frame; steps that lie inside the episode
};

std::vector<ChunkStart> chunk_starts(const std::vector<Dataset>& datasets, int64_t horizon) {
  std::vector<ChunkStart> all;
  for (size_t i = 0; i < datasets.size(); ++i) {
    for (int64_t number = 0; number < datasets[i].num_episodes(); ++number) {
      const int64_t length = datasets[i].episode(number).length;
      const int64_t first = datasets[i].first_row(number);
      for (int64_t frame = 0; frame < std::max<int64_t>(1, length - horizon + 1); ++frame) {
        all.push_back({i, first + frame, std::min(horizon, length)});
      }
    }
  }
  const size_t stride = (all.size() + kMaxRelativeChunks - 1) / kMaxRelativeChunks;
  std::vector<ChunkStart> some;
  for (size_t i = 0; i < all.size(); i += std::max<size_t>(1, stride)) {
    some.push_back(all[i]);
  }
  return some;
}

std::vector<double> gather_relative(const std::vector<Dataset>& datasets, const std::vector<ChunkStart>& starts,
                                    int64_t dim, bool is_relative) {
  std::vector<double> values;
  for (const ChunkStart& start : starts) {
    const Dataset& dataset = datasets[start.dataset];
    const double origin = is_relative ? dataset.column(schema::kStateKey).at(start.row, dim) : 0.0;
    for (int64_t t = 0; t < start.length; ++t) {
      values.push_back(dataset.column(schema::kActionKey).at(start.row + t, dim) - origin);
      if (!std::isfinite(values.back())) {
        throw Error(ErrorKind::kData, str_cat("action minus state is ", values.back(), " in dimension ", dim),
                    str_cat(dataset.root(), ", row ", start.row + t), "flexor dataset info shows what is recorded");
      }
    }
  }
  return values;
}

}  // namespace

schema::NormStats compute_stats(const std::vector<Dataset>& datasets, const std::vector<std::string>& columns) {
  constexpr int kMaxThreads = 8;
  ThreadPool pool(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads));
  schema::NormStats stats;
  for (const std::string& name : columns) {
    stats[name] = column_stats(datasets, name, pool);
  }
  return stats;
}

schema::NormStats compute_stats(const Dataset& dataset, const std::vector<std::string>& columns) {
  return compute_stats(std::vector<Dataset>{dataset}, columns);
}

schema::FeatureStats compute_relative_action_stats(const std::vector<Dataset>& datasets, int64_t horizon,
                                                   const std::vector<bool>& mask) {
  for (const Dataset& dataset : datasets) {
    const auto last = static_cast<int64_t>(mask.rend() - std::find(mask.rbegin(), mask.rend(), true));
    const int64_t state_width = dataset.has_column(schema::kStateKey) ? dataset.width(schema::kStateKey) : 0;
    if (dataset.width(schema::kActionKey) != static_cast<int64_t>(mask.size()) || state_width < last) {
      throw Error(ErrorKind::kData,
                  str_cat("relative actions need an action of ", mask.size(), " values and a state of at least ", last,
                          ", found ", dataset.width(schema::kActionKey), " and ", state_width),
                  dataset.root(), "policy.use_relative_actions=false");
    }
  }
  const std::vector<ChunkStart> starts = chunk_starts(datasets, horizon);
  int64_t rows = 0;
  for (const ChunkStart& start : starts) {
    rows += start.length;
  }
  if (rows == 0) {
    throw Error(ErrorKind::kData, "no frames to compute the statistics of relative actions from");
  }
  std::vector<DimensionStats> dims;
  for (size_t d = 0; d < mask.size(); ++d) {  // one dimension at a time: its values are all in memory
    dims.push_back(dimension_stats(gather_relative(datasets, starts, static_cast<int64_t>(d), mask[d])));
  }
  return to_feature_stats(dims, rows);
}

}  // namespace flexor::data
