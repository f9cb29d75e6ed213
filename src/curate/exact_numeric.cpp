#include "curate/exact_numeric.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "curate/episode_moments.h"
#include "curate/numeric_scan.h"
#include "curate/quantile_counter.h"
#include "data/data_file.h"
#include "schema/norm_stats.h"

namespace flexor::curate {
namespace {

using Features = std::vector<const data::FeatureInfo*>;

schema::FeatureStats with_shape(schema::FeatureStats stats, const data::FeatureInfo& feature) {
  stats.shape = feature.shape.empty() ? std::vector<int64_t>{1} : feature.shape;
  return stats;
}

schema::FeatureStats moment_stats(const std::vector<data::Moments>& dims, const data::FeatureInfo& feature) {
  std::vector<data::DimensionStats> stats;
  for (const data::Moments& dim : dims) {
    stats.push_back({dim.min, dim.max, dim.mean, dim.std(), {}});
  }
  return with_shape(data::to_feature_stats(stats, dims[0].count), feature);
}

/// Room for all values of a feature, episode after episode.
NumericValues make_cache(const data::FeatureInfo& feature, int64_t num_frames) {
  NumericValues values = data::empty_column(feature).values;
  std::visit([&](auto& typed) { typed.resize(static_cast<size_t>(num_frames * feature.size())); }, values);
  return values;
}

/// @param first_row  of the piece's episode in `cache`
void copy_piece(const ScanPiece& piece, int64_t first_row, NumericValues& cache) {
  std::visit(
      [&](const auto& from) {
        const auto begin = from.begin() + piece.first_row * piece.width;
        auto& to = std::get<std::decay_t<decltype(from)>>(cache);
        std::copy(begin, begin + piece.count * piece.width, to.begin() + (first_row + piece.first_frame) * piece.width);
      },
      piece.values);
}

class ExactScan {
 public:
  ExactScan(const StatsSource& source, ThreadPool& pool, const ExactNumericOptions& options)
      : source_(source), pool_(pool), options_(options), scan_(source) {
    result_.episodes.resize(options.per_episode ? source.num_episodes() : 0);
    int64_t row = 0;
    for (const auto& rows : source.rows) {
      first_rows_.push_back(row);
      row += rows.count;
    }
  }

  ExactNumericStats run(const Features& features) {
    Features group;
    int64_t bytes = 0;
    for (const data::FeatureInfo* feature : features) {
      const int64_t size = bytes_of(*feature);
      if (size > options_.cache_bytes) {
        read_streamed(*feature);
        continue;
      }
      if (bytes + size > options_.cache_bytes) {
        read_cached(std::exchange(group, {}));
        bytes = 0;
      }
      group.push_back(feature);
      bytes += size;
    }
    if (!group.empty()) {
      read_cached(group);
    }
    return std::move(result_);
  }

 private:
  int64_t bytes_of(const data::FeatureInfo& feature) const {
    return std::visit(
        [&](const auto& values) {
          return source_.num_frames * feature.size() * static_cast<int64_t>(sizeof(values[0]));
        },
        data::empty_column(feature).values);
  }

  /// Moments of the features; each piece is also shown to `also` (index into features, piece), by several threads.
  template <typename Also>
  void read_moments(const Features& features, const Also& also) {
    struct Part {
      size_t feature, episode;
      std::vector<data::Moments> moments;
    };
    // With few units, the columns are shared out as well.
    const auto units = static_cast<int64_t>(scan_.units().size());
    const int64_t shares = units >= 4 * pool_.size() ? 1 : static_cast<int64_t>(features.size());
    std::vector<std::vector<Part>> parts(static_cast<size_t>(units * shares));
    pool_.parallel_for(units * shares, [&](int64_t job) {
      const auto unit = static_cast<size_t>(job / shares), share = static_cast<size_t>(job % shares);
      const Features some = shares == 1 ? features : Features{features[share]};
      scan_.run(scan_.units()[unit], some, [&](size_t i, const ScanPiece& piece) {
        const size_t number = shares == 1 ? i : share;
        parts[static_cast<size_t>(job)].push_back(
            {number, piece.episode, EpisodeMoments::of(source_, *features[number], piece)});
        also(number, piece);
      });
    });
    std::vector<EpisodeMoments> moments;
    for (const data::FeatureInfo* feature : features) {
      moments.emplace_back(source_.num_episodes(), feature->size());
    }
    for (auto& of_job : parts) {
      for (const Part& part : std::exchange(of_job, {})) {  // gives the memory back
        moments[part.feature].add(part.episode, part.moments);
      }
    }
    for (size_t i = 0; i < features.size(); ++i) {
      keep(*features[i], moments[i]);
    }
  }

  void keep(const data::FeatureInfo& feature, const EpisodeMoments& moments) {
    result_.all[feature.recorded_name] = moment_stats(moments.all(), feature);
    for (size_t episode = 0; episode < result_.episodes.size(); ++episode) {
      if (source_.rows[episode].count > 0) {
        result_.episodes[episode][feature.recorded_name] =
            without_quantiles(moment_stats(moments.episode(episode), feature));
      }
    }
  }

  void set_quantiles(const data::FeatureInfo& feature, int64_t first_dim, const std::vector<Quantiles>& quantiles) {
    schema::FeatureStats& stats = result_.all[feature.recorded_name];
    for (size_t i = 0; i < data::kQuantiles.size(); ++i) {
      std::vector<double>& values = stats.values[std::string(data::kQuantiles[i].first)];
      for (size_t d = 0; d < quantiles.size(); ++d) {
        values[static_cast<size_t>(first_dim) + d] = quantiles[d][i];
      }
    }
  }

  void read_cached(const Features& features) {
    std::vector<NumericValues> caches;
    for (const data::FeatureInfo* feature : features) {
      caches.push_back(make_cache(*feature, source_.num_frames));
    }
    read_moments(features, [&](size_t feature, const ScanPiece& piece) {
      copy_piece(piece, first_rows_[piece.episode], caches[feature]);
    });
    struct Slice {
      size_t feature;
      int64_t first_dim, num_dims;
      std::vector<Quantiles> quantiles;
    };
    constexpr int64_t kSliceDims = 4;
    std::vector<Slice> slices;
    for (size_t i = 0; i < features.size(); ++i) {
      for (int64_t d = 0; d < features[i]->size(); d += kSliceDims) {
        slices.push_back({i, d, std::min(kSliceDims, features[i]->size() - d), {}});
      }
    }
    pool_.parallel_for(static_cast<int64_t>(slices.size()), [&](int64_t i) {
      Slice& slice = slices[static_cast<size_t>(i)];
      slice.quantiles = count_cached(caches[slice.feature], *features[slice.feature], slice.first_dim, slice.num_dims);
    });
    for (const Slice& slice : slices) {
      set_quantiles(*features[slice.feature], slice.first_dim, slice.quantiles);
    }
  }

  std::vector<Quantiles> count_cached(const NumericValues& cache, const data::FeatureInfo& feature, int64_t first_dim,
                                      int64_t num_dims) const {
    return std::visit(
        [&](const auto& values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          QuantileCounter<T> counter(source_.num_frames, first_dim, num_dims);
          while (!counter.done()) {
            auto counts = counter.make_counts();
            counter.count(values.data(), source_.num_frames, feature.size(), counts);
            counter.end_pass({std::move(counts)});
          }
          return counter.quantiles();
        },
        cache);
  }

  void read_streamed(const data::FeatureInfo& feature) {
    std::visit([&](const auto& typed) { read_streamed<typename std::decay_t<decltype(typed)>::value_type>(feature); },
               data::empty_column(feature).values);
  }

  template <typename T>
  void read_streamed(const data::FeatureInfo& feature) {
    // Counts of a dimension take up to 2.5 MiB a thread.
    const int64_t slice = std::max<int64_t>(8, 64 / pool_.size());
    for (int64_t first = 0; first < feature.size(); first += slice) {
      QuantileCounter<T> counter(source_.num_frames, first, std::min(slice, feature.size() - first));
      for (bool is_first = first == 0; !counter.done(); is_first = false) {
        SharedCounts<T> shared;
        const auto count = [&](const ScanPiece& piece) {
          shared.with(counter, [&](auto& counts) {
            counter.count(std::get<std::vector<T>>(piece.values).data() + piece.first_row * piece.width, piece.count,
                          piece.width, counts);
          });
        };
        if (is_first) {
          read_moments({&feature}, [&](size_t, const ScanPiece& piece) { count(piece); });
        } else {
          pool_.parallel_for(static_cast<int64_t>(scan_.units().size()), [&](int64_t unit) {
            scan_.run(scan_.units()[static_cast<size_t>(unit)], {&feature},
                      [&](size_t, const ScanPiece& piece) { count(piece); });
          });
        }
        counter.end_pass(shared.all());
      }
      set_quantiles(feature, first, counter.quantiles());
    }
  }

  const StatsSource& source_;
  ThreadPool& pool_;
  const ExactNumericOptions& options_;
  NumericScan scan_;
  std::vector<int64_t> first_rows_;  ///< of each episode in a cache
  ExactNumericStats result_;
};

}  // namespace

ExactNumericStats exact_numeric_stats(const StatsSource& source, const std::vector<const data::FeatureInfo*>& features,
                                      ThreadPool& pool, const ExactNumericOptions& options) {
  return ExactScan(source, pool, options).run(features);
}

}  // namespace flexor::curate
