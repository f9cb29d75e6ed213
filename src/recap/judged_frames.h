#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "recap/recap_config.h"
#include "recap/returns.h"

namespace flexor::recap {

/// What an episode is to the reader of a report.
enum class EpisodeKind { kDemonstration, kSuccess, kFailure, kUnknown };
inline constexpr size_t kNumEpisodeKinds = 4;
/// "demonstrations", "successes", "failures", "no outcome"; one of them: "demonstration", ...
std::string_view kind_name(EpisodeKind kind);
std::string_view kind_singular(EpisodeKind kind);

/// Rows [first, end) of a dataset's columns.
struct JudgedEpisode {
  int64_t episode_index = 0;
  size_t first = 0, end = 0;
  EpisodeKind kind = EpisodeKind::kUnknown;
  size_t length() const { return end - first; }
};

/// What the sidecars of one dataset say, a row a frame, episodes in ascending order and their frames in the order of
/// time. A column that no step has written yet is empty; otherwise it has size() rows.
struct JudgedDataset {
  std::string name, type, root;
  std::vector<JudgedEpisode> episodes = {};
  std::vector<int64_t> frame_index = {};
  std::vector<float> returns = {};       ///< G_t, in steps
  std::vector<float> values = {};        ///< V(o_t); none of an ensemble (STEAM)
  std::vector<double> scores = {};       ///< A_t, or the ensemble's score in [-1, 1]
  std::vector<float> disagreement = {};  ///< STEAM: variance of the members' scores
  std::vector<uint8_t> labels = {};      ///< 1: positive
  std::vector<int32_t> tasks = {};       ///< into JudgedRun::tasks
  Json made_by;                          ///< what the advantages say about their making; null without
  std::optional<double> threshold = {};
  std::map<std::string, double> task_thresholds = {};
  std::vector<std::string> other_tags = {};  ///< of advantages, where those of the run's tag are missing
  std::string outcome_problem;               ///< why the outcomes of its attempts are not known

  size_t size() const { return frame_index.size(); }
  bool is_steam() const;  ///< labels of an ensemble
};

/// All datasets of a run, as far as its steps have come.
struct JudgedRun {
  std::vector<JudgedDataset> datasets;
  std::vector<std::string> tasks;
  std::optional<ReturnRange> range;  ///< that normalises; null without returns
  bool to_minus_one_zero = true;     ///< targets are G / |G_min|, else in [0, 1]

  bool has_returns() const;  ///< any dataset; likewise below
  bool has_values() const;
  bool has_scores() const;
  bool is_steam() const;
  /// What the value model should say of a frame with this return.
  float target(float return_value) const;
};

/// Reads meta/returns_TAG.parquet and meta/advantages_TAG.parquet of every training dataset of step 3. Pictures and
/// actions are not looked at; memory is about 150 bytes a frame of the largest dataset while it is read, 40 after.
/// @throws Error(kFile) for a dataset that is not there; Error(kData) for damaged sidecars, and for those that are not
///         about the same frames
JudgedRun read_judged(const RecapConfig& config);

}  // namespace flexor::recap
