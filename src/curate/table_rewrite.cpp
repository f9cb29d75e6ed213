#include "curate/table_rewrite.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "curate/write_back.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

/// What the jobs of one rewrite share.
struct TableWork {
  const RewritePlan& plan;
  std::string root;
  std::vector<TableColumn> columns;
  std::vector<table::RowColumn> forms;
  std::map<std::string, std::string> metadata;
  std::vector<RowChanges>& changes;
  std::function<void(int64_t)> on_frames;
};

void write_file(const TableWork& work, EpisodeRows& rows, const OutputFile& file) {
  const std::string path = work.root + "/" + file.path;
  table::RowWriter writer(path, work.forms, work.metadata);
  for (const size_t number : file.episodes) {
    check_interrupt();
    const table::Rows episode = rows.read(number, work.changes[number]);
    if (episode.num_rows() > 0 || file.episodes.size() == 1) {
      writer.write(episode);
    }
    work.on_frames(episode.num_rows());
  }
  writer.close();
  start_write_back(path);
}

}  // namespace

std::vector<Job> table_jobs(const RewritePlan& plan, const FileLayout& layout, TargetVersion version,
                            const std::string& root, std::vector<RowChanges>& changes,
                            const std::function<void(int64_t)>& on_frames) {
  auto work = std::make_shared<TableWork>(TableWork{plan, root, table_columns(plan), {}, {}, changes, on_frames});
  for (const TableColumn& column : work->columns) {
    work->forms.push_back(column.form);
  }
  work->metadata = table_metadata(work->columns, version);
  std::vector<Job> jobs;
  for (size_t first = 0; first < layout.data.size();) {  // files out of one source file are written in one go
    size_t last = first + 1;
    const auto source_of = [&](size_t file) -> const std::string& {
      return plan.episode(layout.data[file].episodes.front()).data_file;
    };
    while (last < layout.data.size() && source_of(last) == source_of(first)) {
      ++last;
    }
    jobs.emplace_back([work, &layout, first, last] {
      EpisodeRows rows(work->plan, work->columns);
      for (size_t file = first; file < last; ++file) {
        write_file(*work, rows, layout.data[file]);
      }
    });
    first = last;
  }
  return jobs;
}

std::vector<std::string> undescribed_columns(const RewritePlan& plan) {
  std::vector<std::string> columns = table::RowReader(plan.episode(0).data_file).columns();
  std::erase_if(columns, [&](const std::string& name) {
    const auto& features = plan.model().info.features;
    const bool is_numbering = name == "timestamp" || name == "frame_index" || name == "episode_index" ||
                              name == "index" || name == "task_index";
    return is_numbering || std::any_of(features.begin(), features.end(),
                                       [&](const auto& feature) { return feature.recorded_name == name; });
  });
  return columns;
}

}  // namespace flexor::curate
