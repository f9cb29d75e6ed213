#include <memory>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "curate/episode_table.h"
#include "curate/rewritten_meta.h"
#include "curate/text_file.h"
#include "data/path_template.h"
#include "table/parquet_writer.h"

namespace flexor::curate {
namespace {

constexpr size_t kRowsAtOnce = 256;        ///< episodes in a row group
constexpr int64_t kFileBytes = 100 << 20;  ///< numbers and texts in a file of meta/episodes, before compression

/// What pandas needs to find the texts in the index, where LeRobot looks for them.
std::string pandas_metadata() {
  const auto column = [](std::string_view name, std::string_view pandas_type, std::string_view numpy_type) {
    return Json::object({{"name", name},
                         {"field_name", name},
                         {"pandas_type", pandas_type},
                         {"numpy_type", numpy_type},
                         {"metadata", Json()}});
  };
  return Json::object({{"index_columns", Json(std::vector<std::string>{"task"})},
                       {"column_indexes", Json::array()},
                       {"columns",
                        Json(Json::Array{column("task_index", "int64", "int64"), column("task", "unicode", "object")})},
                       {"pandas_version", "2.2.0"}})
      .dump();
}

void write_task_table(const RewritePlan& plan, const std::string& root) {
  std::vector<int64_t> indices(plan.tasks.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = static_cast<int64_t>(i);
  }
  table::write_parquet(root + "/meta/tasks.parquet",
                       {{.name = "task_index", .values = std::move(indices)}, {.name = "task", .values = plan.tasks}},
                       {{"pandas", pandas_metadata()}});
}

std::string episodes_path(const std::string& root, int64_t file_number) {
  const FilePlace place = place_of(file_number);
  return root + "/" +
         data::fill_template("meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
                             {{"chunk_index", place.chunk}, {"file_index", place.file}}, "");
}

int64_t bytes_of(const std::vector<table::WriteColumn>& columns) {
  int64_t bytes = 0;
  for (const table::WriteColumn& column : columns) {
    std::visit(
        [&](const auto& values) {
          bytes += static_cast<int64_t>(values.size() * sizeof(typename std::decay_t<decltype(values)>::value_type));
        },
        column.values);
  }
  return bytes;
}

/// Writes meta/episodes; false when an episode had statistics that the table has no columns for: they are added, and
/// everything must be written again.
bool write_episodes(const MetaParts& parts, EpisodeTable& table, const std::string& root) {
  const size_t total = parts.plan.episodes.size();
  std::unique_ptr<table::ParquetWriter> writer;
  int64_t file = 0, bytes = 0;
  parts.stats.restart();
  for (size_t first = 0; first < total; first += kRowsAtOnce) {
    check_interrupt();
    std::vector<schema::NormStats> stats;
    bool is_new = false;
    for (size_t i = first; i < std::min(first + kRowsAtOnce, total); ++i) {
      stats.push_back(parts.stats.read(i));
      is_new = table.add_stat_columns(stats.back()) || is_new;
    }
    if (is_new && first > 0) {
      return false;
    }
    if (writer && bytes >= kFileBytes) {
      writer->close();
      writer.reset();
      bytes = 0;
      ++file;
    }
    if (!writer) {
      writer = std::make_unique<table::ParquetWriter>(episodes_path(root, file), table.metadata());
    }
    const std::vector<table::WriteColumn> columns = table.columns(first, stats, file);
    writer->write_row_group(columns);
    bytes += bytes_of(columns);
  }
  writer->close();
  return true;
}

}  // namespace

void write_meta_v30(const MetaParts& parts, const std::string& root) {
  write_task_table(parts.plan, root);
  EpisodeTable table(parts);
  while (!write_episodes(parts, table, root)) {
  }
  if (const Json total = parts.stats.total(); !total.is_null()) {
    TextFile file(root + "/meta/stats.json");
    file.write(total.dump(4));
    file.close();
  }
}

}  // namespace flexor::curate
