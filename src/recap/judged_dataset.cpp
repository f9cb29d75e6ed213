#include "recap/judged_dataset.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/judged_labels.h"
#include "recap/labelled_dataset.h"
#include "recap/returns_scan.h"
#include "recap/sidecar.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// Numbers of task texts, shared by the datasets of a run.
class TaskNumbers {
 public:
  explicit TaskNumbers(std::vector<std::string>& texts) : texts_(texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      numbers_[texts[i]] = static_cast<int32_t>(i);
    }
  }
  int32_t of(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<int32_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(text);
    }
    return found->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, int32_t> numbers_;
};

/// Reads one dataset.
class Reading {
 public:
  Reading(const RecapConfig& config, const DatasetEntry& entry, JudgedRun& run)
      : config_(config), entry_(entry), tasks_(run.tasks) {
    d_.name = entry.shown_name();
    d_.type = entry.type.empty() ? data().dataset_type : entry.type;
    d_.root = resolved_path(data(), entry.dataset_path);
  }

  JudgedDataset read() {
    if (!fs::is_directory(d_.root)) {
      throw Error(ErrorKind::kFile, "no such dataset folder", d_.root,
                  "the paths of a configuration start at the folder in which the run was started");
    }
    if (has("returns", section().returns_tag)) {
      returns_ = read_returns(d_.root, section().returns_tag);
    }
    if (has("advantages", section().tag)) {
      read_judged_labels(rows_, section().tag);
    } else {
      d_.other_tags = sidecar_tags(d_.root, "advantages");
      if (returns_) {
        rows_.episode_index = returns_->episode_index;
        d_.frame_index = returns_->frame_index;
      }
    }
    sort_judged_rows(rows_);
    find_episodes();
    if (returns_) {
      join_returns();
    } else if (d_.size() > 0) {
      scan_data();
    }
    return std::move(d_);
  }

  /// Smallest and largest return of the sidecar, or of the labels' own column.
  std::optional<ReturnRange> range() const { return range_; }

 private:
  const DataSection& data() const { return config_.advantages.data; }
  const AdvantageSection& section() const { return config_.advantages.advantage; }
  bool has(std::string_view kind, std::string_view tag) const {
    return fs::exists(str_cat(d_.root, "/meta/", sidecar_name(kind, tag)));
  }

  void find_episodes() {
    const EpisodeKind kind = is_sft(d_.type) ? EpisodeKind::kDemonstration : EpisodeKind::kUnknown;
    for (const RowRun& run : row_runs(rows_.episode_index)) {
      d_.episodes.push_back({run.episode_index, static_cast<size_t>(run.first), static_cast<size_t>(run.end), kind});
    }
  }

  /// The row of the returns sidecar of every row.
  std::vector<size_t> returns_rows() const {
    const FrameRows frames(returns_->episode_index, returns_->frame_index, returns_->path);
    std::vector<size_t> rows(d_.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = frames.find(rows_.episode_index[i], d_.frame_index[i]);
      if (!row) {
        throw Error(ErrorKind::kData, "a frame that has an advantage has no return",
                    str_cat(returns_->path, ", episode ", rows_.episode_index[i], ", frame ", d_.frame_index[i]),
                    "the dataset changed: flexor recap returns --config FILE, then flexor recap advantages");
      }
      rows[i] = static_cast<size_t>(*row);
    }
    return rows;
  }

  void join_returns() {
    const std::vector<size_t> rows = returns_rows();
    range_ = returns_->range();
    if (d_.returns.empty()) {
      d_.returns.resize(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        d_.returns[i] = returns_->returns[rows[i]];
      }
    }
    const std::vector<int32_t> prompts = prompt_numbers();
    d_.tasks.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      d_.tasks[i] = prompts[rows[i]];
    }
    std::unordered_map<int64_t, std::pair<int64_t, float>> last;  // of each episode: last frame and its reward
    for (size_t row = 0; row < returns_->rewards.size(); ++row) {
      const std::pair candidate(returns_->frame_index[row], returns_->rewards[row]);
      const auto [found, is_new] = last.emplace(returns_->episode_index[row], candidate);
      if (!is_new && candidate.first > found->second.first) {
        found->second = candidate;
      }
    }
    for (JudgedEpisode& episode : d_.episodes) {
      if (episode.kind == EpisodeKind::kUnknown) {
        const bool is_success = last.at(episode.episode_index).second == 0.0F;
        episode.kind = is_success ? EpisodeKind::kSuccess : EpisodeKind::kFailure;
      }
    }
  }

  std::vector<int32_t> prompt_numbers() {
    const auto reader = table::ParquetReader::open(returns_->path);
    std::vector<int32_t> numbers;
    for (int group = 0; group < reader.num_row_groups(); ++group) {
      for (const std::string& prompt : reader.read_texts("prompt", group, group + 1)) {
        numbers.push_back(tasks_.of(prompt));
      }
    }
    return numbers;
  }

  /// Without returns (an ensemble needs none) outcomes and tasks come from the data's index columns.
  void scan_data() {
    ReturnsScan scan;
    const int threads = reading_threads(data().num_workers);
    try {
      scan = scan_for_returns(d_.root, entry_, d_.type, threads);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData || is_sft(d_.type)) {
        throw;
      }
      d_.outcome_problem = error.what();
      scan = scan_for_returns(d_.root, entry_, "sft", threads);
    }
    std::unordered_map<int64_t, const ScannedEpisode*> known;
    for (const ScannedEpisode& episode : scan.episodes) {
      known[episode.episode_index] = &episode;
    }
    d_.tasks.assign(d_.size(), tasks_.of(""));
    for (JudgedEpisode& episode : d_.episodes) {
      const auto found = known.find(episode.episode_index);
      if (found == known.end()) {
        throw Error(ErrorKind::kData, "an episode that has labels is not in the dataset",
                    str_cat(rows_.path, ", episode ", episode.episode_index), kLabelAgain);
      }
      if (episode.kind == EpisodeKind::kUnknown && d_.outcome_problem.empty()) {
        episode.kind = found->second->success ? EpisodeKind::kSuccess : EpisodeKind::kFailure;
      }
      set_tasks(episode, *found->second);
    }
  }

  void set_tasks(const JudgedEpisode& episode, const ScannedEpisode& scanned) {
    size_t row = episode.first;
    for (const ScannedEpisode::Prompt& prompt : scanned.prompts) {
      const int32_t number = tasks_.of(prompt.text);
      const size_t end = std::min(episode.end, row + static_cast<size_t>(prompt.count));
      std::fill(d_.tasks.begin() + static_cast<std::ptrdiff_t>(row),
                d_.tasks.begin() + static_cast<std::ptrdiff_t>(end), number);
      row = end;
    }
  }

  const RecapConfig& config_;
  const DatasetEntry& entry_;
  TaskNumbers tasks_;
  JudgedRows rows_;
  JudgedDataset& d_ = rows_.dataset;
  std::optional<ReturnsSidecar> returns_;
  std::optional<ReturnRange> range_;
};

}  // namespace

std::pair<JudgedDataset, std::optional<ReturnRange>> read_judged_dataset(const RecapConfig& config,
                                                                         const DatasetEntry& entry, JudgedRun& run) {
  Reading reading(config, entry, run);
  JudgedDataset dataset = reading.read();
  return {std::move(dataset), reading.range()};
}

}  // namespace flexor::recap
