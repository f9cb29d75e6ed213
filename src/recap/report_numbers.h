#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "recap/judged_frames.h"

namespace flexor::recap {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// One episode. Numbers that no step has made yet are NaN; returns are in steps, V and targets normalised.
struct EpisodeNumbers {
  size_t dataset = 0, place = 0;  ///< JudgedRun::datasets[dataset].episodes[place]
  double return_first = kNotKnown, return_mean = kNotKnown, target_mean = kNotKnown;
  double value_first = kNotKnown, value_mean = kNotKnown, value_last = kNotKnown;
  double gap = kNotKnown;               ///< mean of |V - target|
  std::optional<double> spearman = {};  ///< of V and G over its frames
  double score_mean = kNotKnown, score_min = kNotKnown, score_max = kNotKnown;
  double disagreement = kNotKnown;  ///< STEAM: mean variance of the members' scores
  double positive_share = kNotKnown;
};

/// Counts of equally wide bins per kind of episode; the outer bins hold what lies beyond them too.
struct KindHistogram {
  std::vector<double> edges;
  std::array<std::vector<int64_t>, kNumEpisodeKinds> counts;
  bool is_cut = false;  ///< some values lie beyond
  bool is_empty() const { return edges.empty(); }
};

/// Frames whose V lies in [low, high).
struct CalibrationBin {
  double low = 0, high = 0;
  int64_t frames = 0;
  double value_mean = 0, target_mean = 0, target_std = 0;
};

/// Labels of a dataset, or of a task over all datasets.
struct PositiveRate {
  std::string name, type;  ///< type: of a dataset
  int64_t frames = 0, positive = 0;
  int64_t above = 0;                            ///< frames whose score alone makes them positive
  int64_t attempts = 0, attempts_positive = 0;  ///< frames that are no demonstrations
  std::optional<double> threshold = {};
  double positive_share() const { return share(positive, frames); }
  double attempts_share() const { return share(attempts_positive, attempts); }
  static double share(int64_t part, int64_t whole) {
    return whole == 0 ? kNotKnown : static_cast<double>(part) / static_cast<double>(whole);
  }
};

struct KindCounts {
  int64_t episodes = 0, frames = 0, positive = 0;
};

/// Everything that the report says in numbers. Parts without data are empty.
struct ReportNumbers {
  std::vector<EpisodeNumbers> episodes;  ///< in the order of datasets and episodes
  std::array<KindCounts, kNumEpisodeKinds> kinds = {};
  KindHistogram returns, values, scores;
  std::vector<CalibrationBin> calibration;  ///< bins without frames are left out
  double calibration_error = kNotKnown;     ///< mean over frames of |mean V - mean target| of their bin
  double value_mae = kNotKnown;             ///< mean of |V - target|
  double value_std = kNotKnown, target_std = kNotKnown;
  std::optional<double> spearman = {};  ///< of V and G over all frames
  /// Share of the pairs of a success and a failure in which the success has the larger mean of V (of an ensemble: of
  /// the score); ties count half. Demonstrations stand for the successes where no attempt succeeded. Null without such
  /// pairs.
  std::optional<double> separation = {};
  std::vector<PositiveRate> by_dataset, by_task;  ///< tasks by falling number of frames
  /// Share of positive frames in each part of an episode's time, per kind; NaN where no frame is.
  std::array<std::vector<double>, kNumEpisodeKinds> positive_by_progress;

  KindCounts total() const;
  /// V varies by less than a tenth of what the targets do: the value model has not learned to tell frames apart.
  bool is_nearly_constant() const;
};

ReportNumbers report_numbers(const JudgedRun& run);

}  // namespace flexor::recap
