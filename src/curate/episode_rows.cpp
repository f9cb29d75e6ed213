#include "curate/episode_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "curate/episode_stats.h"
#include "data/dataset.h"

namespace flexor::curate {
namespace {

void shift_stats(schema::NormStats& stats, const std::string& feature, double by) {
  const auto found = stats.find(feature);
  if (found == stats.end() || by == 0) {
    return;
  }
  for (auto& [name, values] : found->second.values) {
    if (name != "std" && name != "count") {
      std::for_each(values.begin(), values.end(), [by](double& value) { value += by; });
    }
  }
}

}  // namespace

std::string EpisodeRows::place(size_t number, const table::Rows& rows) const {
  return str_cat(rows.path(), ", episode ", plan_.episode(number).episode_index);
}

void EpisodeRows::set_numbers(size_t number, table::Rows& rows) const {
  const auto count = static_cast<size_t>(rows.num_rows());
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), plan_.episodes[number].first_index);
  rows.set("index", numbers);
  rows.set("episode_index", std::vector<int64_t>(count, static_cast<int64_t>(number)));
  if (!rows.has("frame_index")) {
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    rows.set("frame_index", numbers);
  }
}

void EpisodeRows::set_tasks(size_t number, table::Rows& rows, RowChanges& changes) const {
  const auto& map = plan_.task_maps[plan_.episodes[number].source];
  if (std::all_of(map.begin(), map.end(), [](const auto& pair) { return pair.first == pair.second; }) &&
      map.size() == plan_.sources[plan_.episodes[number].source]->tasks.size()) {
    return;
  }
  std::vector<int64_t> tasks = rows.integers("task_index");
  bool changed = false;
  for (int64_t& task : tasks) {
    const auto found = map.find(task);
    if (found == map.end()) {
      throw Error(ErrorKind::kData, str_cat("task_index ", task, " is not among the tasks of the episode"),
                  place(number, rows), "flexor dataset verify names what disagrees");
    }
    changed = changed || found->second != task;
    task = found->second;
  }
  if (!changed) {
    return;
  }
  rows.set("task_index", tasks);
  changes.task_indices = std::move(tasks);
  for (const TableColumn& column : columns_) {
    if (!column.form.name.starts_with("annotation.") || !column.feature.dtype.starts_with("int") ||
        column.feature.size() != 1) {
      continue;
    }
    std::vector<int64_t> values = rows.integers(column.form.name);
    if (std::all_of(values.begin(), values.end(), [&](int64_t value) { return map.contains(value); })) {
      std::for_each(values.begin(), values.end(), [&](int64_t& value) { value = map.at(value); });
      rows.set(column.form.name, values);
    }
  }
}

void EpisodeRows::set_timestamps(size_t number, table::Rows& rows, RowChanges& changes) const {
  const std::vector<double> times = rows.numbers("timestamp");
  if (times.empty() || std::abs(times[0]) <= data::kToleranceS) {
    return;
  }
  const double fps = plan_.model().info.fps.value();
  changes.start_s = times[0];
  std::vector<double> regular(times.size());
  for (size_t i = 0; i < times.size(); ++i) {
    regular[i] = static_cast<double>(i) / fps;
    if (!(std::abs(times[i] - times[0] - regular[i]) <= data::kToleranceS)) {
      throw Error(ErrorKind::kData,
                  str_cat("timestamp ", times[i], " s, expected ", times[0] + regular[i], " s (", fps,
                          " frames/s from ", times[0], " s on)"),
                  str_cat(place(number, rows), ", frame ", i), "record the episode again, or leave it out");
    }
  }
  const bool is_double = rows.info("timestamp").kind == table::ValueKind::kFloat64;
  if (is_double) {
    rows.set("timestamp", regular);
  } else {
    rows.set("timestamp", std::vector<float>(regular.begin(), regular.end()));
  }
}

table::Rows EpisodeRows::read(size_t number, RowChanges& changes) {
  const SourceEpisode& episode = plan_.episode(number);
  if (!reader_ || reader_->path() != episode.data_file) {
    reader_.emplace(episode.data_file);
  }
  table::Rows rows = reader_->read(episode.first_row, episode.length);
  set_numbers(number, rows);
  set_tasks(number, rows, changes);
  set_timestamps(number, rows, changes);
  const std::string& root = plan_.sources[plan_.episodes[number].source]->info.root;
  for (const TableColumn& column : columns_) {
    if (column.form.form == table::RowColumn::Form::kImage) {
      rows.embed_images(column.form.name, root);
    }
  }
  return rows;
}

void renumber_stats(const RewritePlan& plan, size_t number, const RowChanges& changes, schema::NormStats& stats) {
  const SourceEpisode& episode = plan.episode(number);
  shift_stats(stats, "episode_index", static_cast<double>(static_cast<int64_t>(number) - episode.episode_index));
  shift_stats(stats, "index", static_cast<double>(plan.episodes[number].first_index - episode.first_index));
  shift_stats(stats, "timestamp", -changes.start_s);
  const auto tasks = stats.find("task_index");
  if (tasks != stats.end() && !changes.task_indices.empty()) {
    const auto count = static_cast<int64_t>(changes.task_indices.size());
    const schema::FeatureStats exact = numeric_episode_stats(
        changes.task_indices, 1, 0, count, {"task_index", episode.data_file, static_cast<int64_t>(number)});
    for (auto& [name, values] : tasks->second.values) {
      values = exact.at(name);
    }
  }
}

}  // namespace flexor::curate
