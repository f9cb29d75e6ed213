#include "curate/verify_file.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "data/file_scan.h"
#include "data/image_check.h"
#include "table/parquet_reader.h"

namespace flexor::curate {
namespace {

using data::FeatureInfo;
using data::Finding;
using data::Run;

/// The row that a message begins with: "row 17: ...".
std::optional<int64_t> row_of(std::string_view message) {
  constexpr std::string_view kStart = "row ";
  int64_t row = 0;
  if (!message.starts_with(kStart)) {
    return std::nullopt;
  }
  const auto number = std::from_chars(message.data() + kStart.size(), message.data() + message.size(), row);
  return number.ec == std::errc() ? std::optional(row) : std::nullopt;
}

class FileCheck {
 public:
  FileCheck(const FileContext& context, const FileTask& task) : context_(context), task_(task) {
    report_.file = task.file;
  }

  FileReport run() {
    data::attempt("data_unreadable", root(), &report_.findings, [this] { read(); });
    for (Finding& finding : report_.findings) {
      if (!finding.episode && task_.only_episode) {
        finding.episode = task_.only_episode;
      }
    }
    return std::move(report_);
  }

 private:
  const std::string& root() const { return context_.info.root; }

  void read() {
    const auto reader = table::ParquetReader::open(root() + "/" + task_.file);
    const auto columns = data::check_columns(reader, context_.info, task_.file);
    report_.findings.insert(report_.findings.end(), columns.begin(), columns.end());
    report_.has_frame_index = reader.find("frame_index") != nullptr;
    runs_ = task_.only_episode ? std::vector<Run>{{*task_.only_episode, 0, reader.num_rows(), 0, true}}
                               : data::find_runs(reader);
    if (runs_.size() == 1 && runs_[0].count == 0) {
      runs_.clear();
    }
    for (const Run& run : runs_) {
      checks_.emplace_back(context_.info, context_.tasks, run.episode_index, task_.file);
    }
    report_.is_readable = true;
    for (const FeatureInfo& feature : context_.info.features) {
      if (feature.is_numeric() && reader.find(feature.recorded_name) != nullptr) {
        check_interrupt();
        scan(reader, feature);
      }
    }
    finish();
    for (const FeatureInfo& feature : context_.info.features) {
      if (feature.dtype == "image" && !feature.is_depth && reader.find(feature.recorded_name) != nullptr) {
        read_images(reader, feature);
      }
    }
  }

  void scan(const table::ParquetReader& reader, const FeatureInfo& feature) {
    const bool is_read = data::attempt("column_unreadable", root(), &report_.findings, [&] {
      data::scan_column(reader, feature, runs_,
                        [&](size_t run, const data::ColumnPiece& piece) { checks_[run].add(feature, piece); });
    });
    if (!is_read) {
      place(report_.findings.back(), feature);
      report_.damaged_features.insert(feature.name);
    }
  }

  /// Episode and frame of a finding that knows the row.
  void place(Finding& finding, const FeatureInfo& feature) const {
    finding.feature = feature.recorded_name;
    if (const auto row = row_of(finding.message)) {
      const Run* run = run_of(*row);
      finding.episode = run ? std::optional(run->episode_index) : std::nullopt;
      finding.frame = run ? std::optional(*row - run->first_row) : std::nullopt;
    }
  }

  const Run* run_of(int64_t row) const {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [row](const Run& run) {
      return row >= run.first_row && row < run.first_row + run.count;
    });
    return found == runs_.end() ? nullptr : &*found;
  }

  void finish() {
    static const std::vector<std::string> kNone;
    std::set<int64_t> seen;
    for (size_t i = 0; i < runs_.size(); ++i) {
      data::EpisodeRowsCheck& check = checks_[i];
      const auto listed = context_.listed_tasks.find(runs_[i].episode_index);
      const bool is_listed = listed != context_.listed_tasks.end();
      std::vector<Finding> findings;
      check.finish(is_listed ? listed->second : kNone, findings);
      if (is_listed && seen.insert(runs_[i].episode_index).second) {  // others are reported as such, not row by row
        std::move(findings.begin(), findings.end(), std::back_inserter(report_.findings));
      }
      report_.episodes.push_back({runs_[i].episode_index, runs_[i].count, check.first_index(), check.start_time_s(),
                                  std::move(check.summaries())});
    }
  }

  void read_images(const table::ParquetReader& reader, const FeatureInfo& camera) {
    int64_t row = 0;
    for (int group = 0; group < reader.num_row_groups() && (group == 0 || context_.decode_images); ++group) {
      const bool is_read = data::attempt("image_unreadable", root(), &report_.findings, [&] {
        const auto cells = reader.read_images(camera.recorded_name, group, group + 1);
        for (size_t i = 0; i < cells.size() && (i == 0 || context_.decode_images); ++i) {
          check_interrupt();
          check_cell(camera, cells[i], row + static_cast<int64_t>(i));
        }
      });
      if (!is_read) {
        place(report_.findings.back(), camera);
      }
      row += reader.row_group_rows(group);
    }
  }

  void check_cell(const FeatureInfo& camera, const table::ImageCell& cell, int64_t row) {
    std::optional<Finding> finding;
    const bool is_file = cell.bytes.empty();
    const bool is_read = data::attempt("image_unreadable", root(), &report_.findings, [&] {
      finding = data::check_image(camera, is_file ? read_file(root() + "/" + cell.path) : cell.bytes);
    });
    if (!is_read) {
      finding = std::move(report_.findings.back());
      report_.findings.pop_back();
    }
    if (finding) {
      const Run* run = run_of(row);
      finding->file = is_file && !cell.path.empty() ? cell.path : task_.file;
      finding->feature = camera.recorded_name;
      finding->episode = run ? std::optional(run->episode_index) : std::nullopt;
      finding->frame = run ? std::optional(row - run->first_row) : std::nullopt;
      report_.findings.push_back(std::move(*finding));
    }
  }

  const FileContext& context_;
  const FileTask& task_;
  FileReport report_;
  std::vector<Run> runs_;
  std::vector<data::EpisodeRowsCheck> checks_;
};

}  // namespace

FileReport verify_file(const FileContext& context, const FileTask& task) {
  return FileCheck(context, task).run();
}

}  // namespace flexor::curate
