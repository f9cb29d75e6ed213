#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/column_summary.h"
#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/finding.h"

namespace flexor::data {

/// A recorded signal, as opposed to the numbering that every dataset has, annotations and pictures.
bool is_signal(const FeatureInfo& feature);

using Summaries = std::map<std::string, ColumnSummary, std::less<>>;  ///< by feature name

/// Checks the rows of one episode: numbering, timestamps, tasks, values that are not finite. It is fed column by
/// column, each in ascending pieces, so that a whole column may be in memory or a few rows at a time. What is wrong in
/// many frames is one finding, at the first of them.
class EpisodeRowsCheck {
 public:
  /// @param tasks  null: unknown, tasks are not checked
  /// @param file   of the rows, relative to the root
  EpisodeRowsCheck(const DatasetInfo& info, const TaskTable* tasks, int64_t episode_index, std::string file);

  void add(const FeatureInfo& feature, const ColumnPiece& piece);
  /// After the last column. @param listed  the task texts that the metadata list for the episode
  void finish(const std::vector<std::string>& listed, std::vector<Finding>& findings);

  int64_t episode_index() const { return episode_index_; }
  const std::string& file() const { return file_; }
  std::optional<int64_t> first_index() const { return first_index_; }  ///< of a column that counts without a gap
  int64_t num_rows() const { return num_rows_; }
  double start_time_s() const { return start_s_; }  ///< timestamp of frame 0; 0 where it is near enough to 0
  Summaries& summaries() { return summaries_; }     ///< of the signals

 private:
  struct Problem {
    Finding first;
    int64_t frames = 0;
  };
  void check_index(const ColumnPiece& piece);
  void check_count(const std::string& code, const ColumnPiece& piece, int64_t start, const std::string& message);
  void check_episode_index(const ColumnPiece& piece);
  void check_timestamps(const ColumnPiece& piece);
  void collect_tasks(const ColumnPiece& piece, bool is_annotation);
  void check_signal(const FeatureInfo& feature, const ColumnPiece& piece);
  void finish_tasks(const std::vector<std::string>& listed);
  void finish_signals();
  void note(const std::string& code, const std::string& feature, std::optional<int64_t> frame,
            const std::string& expected, const std::string& found, const std::string& message,
            const std::string& hint = {});

  const DatasetInfo& info_;
  const TaskTable* tasks_;
  const int64_t episode_index_;
  const std::string file_;
  std::vector<Problem> problems_;
  std::optional<int64_t> index_start_, first_index_;
  int64_t num_rows_ = 0;
  double start_s_ = 0;
  bool saw_tasks_ = false;
  std::set<int64_t> used_tasks_;
  std::set<std::string> annotated_tasks_;
  Summaries summaries_;
};

/// `index` goes on from one episode to the next, from 0. @param ends  in ascending episode order
struct IndexRange {
  int64_t episode_index = 0, first = 0, count = 0;
  std::string file;
};
void check_index_joins(const std::vector<IndexRange>& ranges, std::vector<Finding>& findings);

/// Warnings about dimensions of a floating-point feature that never or hardly change, and about values beyond a
/// million.
void check_dimensions(const FeatureInfo& feature, const ColumnSummary& summary, std::vector<Finding>& findings);

}  // namespace flexor::data
