#include "data/row_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset.h"

namespace flexor::data {
namespace {

constexpr int64_t kMaxSummaryWidth = 4096;  // wider features (depth maps, scans) are only looked through

constexpr std::array<std::string_view, 5> kNumbering = {"timestamp", "frame_index", "episode_index", "index",
                                                        "task_index"};

bool holds_floats(const Column& column) {
  return std::holds_alternative<std::vector<float>>(column.values) ||
         std::holds_alternative<std::vector<double>>(column.values);
}

}  // namespace

bool is_signal(const FeatureInfo& feature) {
  return feature.is_numeric() && !feature.recorded_name.starts_with("annotation.") &&
         std::find(kNumbering.begin(), kNumbering.end(), feature.name) == kNumbering.end();
}

EpisodeRowsCheck::EpisodeRowsCheck(const DatasetInfo& info, const TaskTable* tasks, int64_t episode_index,
                                   std::string file)
    : info_(info), tasks_(tasks), episode_index_(episode_index), file_(std::move(file)) {}

void EpisodeRowsCheck::add(const FeatureInfo& feature, const ColumnPiece& piece) {
  if (piece.count == 0) {
    return;
  }
  num_rows_ = std::max(num_rows_, piece.first_frame + piece.count);
  const bool is_whole_numbers = std::holds_alternative<std::vector<int64_t>>(piece.column->values);
  const bool is_numbering = std::find(kNumbering.begin(), kNumbering.end(), feature.name) != kNumbering.end();
  if (is_numbering && feature.name != "timestamp" && !is_whole_numbers) {
    return;  // another type than declared is reported where the file is opened
  }
  if (feature.name == "index") {
    check_index(piece);
  } else if (feature.name == "frame_index") {
    check_count("frame_index", piece, 0, "frame_index does not count from 0");
  } else if (feature.name == "episode_index") {
    check_episode_index(piece);
  } else if (feature.name == "timestamp") {
    check_timestamps(piece);
  } else if (feature.name == "task_index") {
    collect_tasks(piece, /*is_annotation=*/false);
  } else if (feature.recorded_name.starts_with("annotation.") && is_whole_numbers) {
    collect_tasks(piece, /*is_annotation=*/true);
  } else if (is_signal(feature)) {
    check_signal(feature, piece);
  }
}

void EpisodeRowsCheck::check_index(const ColumnPiece& piece) {
  if (!index_start_) {  // from the first two neighbours that count, so that one odd row is named, not all the others
    index_start_ = static_cast<int64_t>(piece.at(0));
    for (int64_t k = 0; k + 1 < piece.count; ++k) {
      if (piece.at(k + 1) == piece.at(k) + 1) {
        index_start_ = static_cast<int64_t>(piece.at(k)) - k;
        break;
      }
    }
    first_index_ = index_start_;
  }
  check_count("index", piece, *index_start_, "index does not count the frames of the dataset");
}

void EpisodeRowsCheck::check_count(const std::string& code, const ColumnPiece& piece, int64_t start,
                                   const std::string& message) {
  for (int64_t k = 0; k < piece.count; ++k) {
    const auto found = static_cast<int64_t>(piece.at(k));
    const int64_t frame = piece.first_frame + k;
    if (found != start + frame) {
      note(code, code, frame, str_cat(start + frame), str_cat(found), message);
    }
  }
}

void EpisodeRowsCheck::check_episode_index(const ColumnPiece& piece) {
  for (int64_t k = 0; k < piece.count; ++k) {
    const auto found = static_cast<int64_t>(piece.at(k));
    if (found != episode_index_) {
      note("episode_index", "episode_index", piece.first_frame + k, str_cat(episode_index_), str_cat(found),
           "episode_index of the row");
    }
  }
}

/// timestamp = start + frame_index / fps; float32 columns are as exact as their type allows.
void EpisodeRowsCheck::check_timestamps(const ColumnPiece& piece) {
  constexpr double kFloatStep = 6e-8;  // half a unit in the last place, relative
  if (piece.first_frame == 0) {
    const double start = piece.at(0);
    start_s_ = std::abs(start) > kToleranceS && std::isfinite(start) ? start : 0;
  }
  const double fps = info_.fps.value();
  for (int64_t k = 0; k < piece.count; ++k) {
    const int64_t frame = piece.first_frame + k;
    const double expected = start_s_ + static_cast<double>(frame) / fps, found = piece.at(k);
    if (!(std::abs(found - expected) <= kToleranceS + kFloatStep * std::abs(expected))) {
      note("timestamp", "timestamp", frame, short_number(expected, 9), short_number(found, 9),
           "timestamp (s) off the grid of the frames");
    }
  }
}

void EpisodeRowsCheck::collect_tasks(const ColumnPiece& piece, bool is_annotation) {
  if (tasks_ == nullptr) {
    return;
  }
  saw_tasks_ = saw_tasks_ || !is_annotation;
  for (int64_t k = 0; k < piece.count; ++k) {
    const auto number = static_cast<int64_t>(piece.at(k));
    const auto task = tasks_->find(number);
    if (is_annotation) {  // GR00T: annotation.human.validity holds a task_index
      if (task != tasks_->end()) {
        annotated_tasks_.insert(task->second);
      }
    } else if (task == tasks_->end()) {
      note("task_index", "task_index", piece.first_frame + k, str_cat("one of ", tasks_->size(), " tasks"),
           str_cat(number), "task_index without a task");
    } else {
      used_tasks_.insert(number);
    }
  }
}

void EpisodeRowsCheck::check_signal(const FeatureInfo& feature, const ColumnPiece& piece) {
  if (piece.column->width <= kMaxSummaryWidth) {
    summaries_[feature.name].add(piece);
  } else if (holds_floats(*piece.column)) {
    ColumnSummary piece_only;  // for what is not finite; nothing else is kept
    piece_only.add(piece);
    if (const auto& bad = piece_only.first_bad()) {
      note("not_finite", feature.recorded_name, bad->frame, "a finite number", str_cat(bad->value),
           str_cat("value of dimension ", bad->dim));
    }
  }
}

void EpisodeRowsCheck::finish_tasks(const std::vector<std::string>& listed) {
  if (tasks_ == nullptr || !saw_tasks_) {
    return;
  }
  std::set<std::string> texts = annotated_tasks_;
  for (const int64_t number : used_tasks_) {
    const std::string& text = tasks_->at(number);
    texts.insert(text);
    if (std::find(listed.begin(), listed.end(), text) == listed.end()) {
      note("episode_tasks", "task_index", std::nullopt, listed.empty() ? "a list of tasks" : join_text(listed, " | "),
           text, "task of a frame that the episode does not list");
    }
  }
  for (const std::string& text : listed) {
    if (!texts.contains(text)) {
      note("episode_tasks", "task_index", std::nullopt, "", text, "task that the episode lists and no frame uses");
    }
  }
}

void EpisodeRowsCheck::finish_signals() {
  for (const auto& [name, summary] : summaries_) {
    if (const auto& bad = summary.first_bad()) {
      const FeatureInfo* feature = info_.find(name);
      note("not_finite", feature ? feature->recorded_name : name, bad->frame, "a finite number", str_cat(bad->value),
           summary.num_bad() == 1
               ? str_cat("value of dimension ", bad->dim)
               : str_cat("value of dimension ", bad->dim, " and ", summary.num_bad() - 1, " more in the episode"),
           "leave the episode out with dataset.episodes, or repair the recording");
    }
  }
}

void EpisodeRowsCheck::finish(const std::vector<std::string>& listed, std::vector<Finding>& findings) {
  finish_tasks(listed);
  finish_signals();
  for (Problem& problem : problems_) {
    if (problem.frames > 1) {
      problem.first.message += str_cat(", in ", problem.frames, " frames");
    }
    if (problem.first.code == "index") {
      first_index_ = std::nullopt;
    }
    findings.push_back(std::move(problem.first));
  }
  problems_.clear();
}

/// The first frame of a code and feature makes a finding; later ones are counted.
void EpisodeRowsCheck::note(const std::string& code, const std::string& feature, std::optional<int64_t> frame,
                            const std::string& expected, const std::string& found, const std::string& message,
                            const std::string& hint) {
  const auto same = std::find_if(problems_.begin(), problems_.end(), [&](const Problem& problem) {
    return frame && problem.first.code == code && problem.first.feature == feature;
  });
  if (same != problems_.end()) {
    ++same->frames;
    return;
  }
  problems_.push_back({{.code = code,
                        .severity = Severity::kError,
                        .file = file_,
                        .episode = episode_index_,
                        .frame = frame,
                        .feature = feature,
                        .expected = expected,
                        .found = found,
                        .message = message,
                        .hint = hint},
                       1});
}

void check_index_joins(const std::vector<IndexRange>& ranges, std::vector<Finding>& findings) {
  const IndexRange* previous = nullptr;
  for (const IndexRange& range : ranges) {
    const bool follows = previous != nullptr && previous->episode_index + 1 == range.episode_index;
    const int64_t expected = follows ? previous->first + previous->count : range.episode_index == 0 ? 0 : range.first;
    if (range.first != expected) {
      findings.push_back({.code = "index",
                          .severity = Severity::kError,
                          .file = range.file,
                          .episode = range.episode_index,
                          .frame = 0,
                          .feature = "index",
                          .expected = str_cat(expected),
                          .found = str_cat(range.first),
                          .message = "index does not go on from the episode before"});
    }
    previous = &range;
  }
}

void check_dimensions(const FeatureInfo& feature, const ColumnSummary& summary, std::vector<Finding>& findings) {
  constexpr double kHuge = 1e6, kNearly = 1e-4;
  std::vector<std::string> constant, nearly, huge;
  if (summary.first_bad() || !(feature.dtype.starts_with("float") || feature.dtype == "double")) {
    return;
  }
  for (size_t d = 0; d < summary.dimensions().size(); ++d) {
    const double low = summary.dimensions()[d].min, high = summary.dimensions()[d].max;
    const double spread = high - low;
    if (spread == 0 && summary.count() > 1) {
      constant.push_back(str_cat(d));
    } else if (spread < kNearly * std::max({1.0, std::abs(low), std::abs(high)}) && summary.count() > 1) {
      nearly.push_back(str_cat(d));
    }
    if (high > kHuge || low < -kHuge) {
      huge.push_back(str_cat(d));
    }
  }
  const auto warn = [&](const std::string& code, const std::vector<std::string>& dims, const std::string& message) {
    if (!dims.empty()) {
      findings.push_back({.code = code,
                          .severity = Severity::kWarning,
                          .feature = feature.recorded_name,
                          .message = str_cat(message, join_text(dims, ", "))});
    }
  };
  warn("constant_dimension", constant, "dimensions that never change: ");
  warn("nearly_constant_dimension", nearly, "dimensions that change by less than a ten-thousandth: ");
  warn("huge_value", huge, "dimensions with values beyond a million: ");
}

}  // namespace flexor::data
