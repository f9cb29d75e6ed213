#include "curate/sidecars.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/file_errors.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "curate/meta_files.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

void copy_one(const std::string& from, const std::string& to) {
  std::error_code code;
  fs::create_directories(fs::path(to).parent_path(), code);
  fs::copy_file(from, to, code);
  if (code) {
    throw_file_error("cannot copy the file", from, code.value());
  }
  fs::permissions(to, fs::perms::owner_write, fs::perm_options::add, code);  // of a read-only dataset
}

bool has_episodes(const std::string& path) {
  if (!path.ends_with(".parquet")) {
    return false;
  }
  const auto reader = table::ParquetReader::open(path);
  const table::ColumnInfo* column = reader.find("episode_index");
  return column && column->kind == table::ValueKind::kInt && column->depth == 0;
}

/// New number of each episode of a source, by the old one.
std::unordered_map<int64_t, size_t> new_numbers(const RewritePlan& plan, size_t source) {
  std::unordered_map<int64_t, size_t> numbers;
  for (size_t i = 0; i < plan.episodes.size(); ++i) {
    if (plan.episodes[i].source == source) {
      numbers[plan.episode(i).episode_index] = i;
    }
  }
  return numbers;
}

/// The rows of the kept episodes, numbered anew.
std::optional<table::Rows> kept_rows(const RewritePlan& plan, const table::Rows& rows,
                                     const std::unordered_map<int64_t, size_t>& numbers) {
  const std::vector<int64_t> episodes = rows.integers("episode_index");
  std::vector<bool> keep;
  std::vector<int64_t> renumbered;
  for (const int64_t episode : episodes) {
    const auto found = numbers.find(episode);
    keep.push_back(found != numbers.end());
    if (keep.back()) {
      renumbered.push_back(static_cast<int64_t>(found->second));
    }
  }
  if (renumbered.empty()) {
    return std::nullopt;
  }
  table::Rows kept = rows.filter(keep);
  kept.set("episode_index", renumbered);
  if (kept.has("index") && kept.has("frame_index")) {
    std::vector<int64_t> index = kept.integers("frame_index");
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] += plan.episodes[static_cast<size_t>(renumbered[i])].first_index;
    }
    kept.set("index", index);
  }
  return kept;
}

void write_table(const RewritePlan& plan, const std::string& file, const std::string& root) {
  constexpr int64_t kRowsAtOnce = 1 << 16;
  std::optional<table::RowWriter> writer;
  for (size_t source = 0; source < plan.sources.size(); ++source) {
    const auto numbers = new_numbers(plan, source);
    table::RowReader reader(plan.sources[source]->info.root + "/" + file);
    if (!writer) {
      std::vector<table::RowColumn> columns;
      for (const std::string& name : reader.columns()) {
        columns.push_back({.name = name});
      }
      writer.emplace(root + "/" + file, std::move(columns));
    }
    for (int64_t first = 0; first < reader.num_rows(); first += kRowsAtOnce) {
      check_interrupt();
      const table::Rows rows = reader.read(first, std::min(kRowsAtOnce, reader.num_rows() - first));
      if (const auto kept = kept_rows(plan, rows, numbers)) {
        writer->write(*kept);
      }
    }
  }
  writer->close();
}

bool all_have(const RewritePlan& plan, const std::string& file) {
  return std::all_of(plan.sources.begin(), plan.sources.end(),
                     [&](const SourceDataset* source) { return fs::exists(source->info.root + "/" + file); });
}

bool all_equal(const RewritePlan& plan, const std::string& file) {
  const std::string first = read_file(plan.sources[0]->info.root + "/" + file);
  return std::all_of(plan.sources.begin() + 1, plan.sources.end(),
                     [&](const SourceDataset* source) { return read_file(source->info.root + "/" + file) == first; });
}

}  // namespace

std::vector<std::string> copy_other_files(const RewritePlan& plan, const std::string& root) {
  std::vector<std::string> left_out;
  std::set<std::string> files;
  for (const SourceDataset* source : plan.sources) {
    const std::vector<std::string> here = other_files(source->info.root);
    files.insert(here.begin(), here.end());
  }
  for (const std::string& file : files) {
    const std::string first = plan.sources[0]->info.root + "/" + file;
    if (!all_have(plan, file)) {
      left_out.push_back(file + ": not all sources have it");
    } else if (!plan.is_whole() && has_episodes(first)) {
      write_table(plan, file, root);
    } else if (all_equal(plan, file)) {
      copy_one(first, root + "/" + file);
    } else {
      left_out.push_back(file + ": differs between the sources");
    }
  }
  return left_out;
}

}  // namespace flexor::curate
