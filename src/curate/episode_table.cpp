#include "curate/episode_table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/str_cat.h"
#include "curate/file_groups.h"
#include "curate/stats_json.h"

namespace flexor::curate {
namespace {

using table::Layout;
using table::WriteColumn;

WriteColumn whole_numbers(const std::string& name, std::vector<int64_t> values) {
  return {.name = name, .values = std::move(values)};
}

int64_t size_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

EpisodeTable::EpisodeTable(const MetaParts& parts) : parts_(parts), extras_(parts.plan) {}

bool EpisodeTable::add_stat_columns(const schema::NormStats& stats) {
  const size_t before = stat_columns_.size();
  for (const auto& [feature, of_feature] : stats) {
    for (const auto& [stat, values] : of_feature.values) {
      const std::pair<std::string, std::string> name(feature, stat);
      if (std::none_of(stat_columns_.begin(), stat_columns_.end(), [&](const auto& c) { return c.first == name; })) {
        stat_columns_.emplace_back(name, stat == "count" ? std::vector<int64_t>{1} : of_feature.shape);
      }
    }
  }
  if (stat_columns_.size() == before) {
    return false;
  }
  const auto& features = parts_.plan.model().info.features;
  const auto place = [&](const auto& column) {
    const auto feature = std::find_if(features.begin(), features.end(),
                                      [&](const auto& f) { return f.recorded_name == column.first.first; });
    const auto stat = std::find(kStatNames.begin(), kStatNames.end(), column.first.second);
    return std::tuple(feature - features.begin(), column.first.first, stat - kStatNames.begin());
  };
  std::sort(stat_columns_.begin(), stat_columns_.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return true;
}

void EpisodeTable::add_places(size_t first, size_t count, std::vector<WriteColumn>& columns) const {
  const RewritePlan& plan = parts_.plan;
  const auto numbers = [&](const auto& value_of) {
    std::vector<int64_t> values(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = value_of(first + i);
    }
    return values;
  };
  const auto add_file = [&](const std::string& prefix, const std::vector<int64_t>& file) {
    columns.push_back(
        whole_numbers(prefix + "chunk_index", numbers([&](size_t i) { return place_of(file[i]).chunk; })));
    columns.push_back(whole_numbers(prefix + "file_index", numbers([&](size_t i) { return place_of(file[i]).file; })));
  };
  columns.push_back(whole_numbers("episode_index", numbers([](size_t i) { return static_cast<int64_t>(i); })));
  add_file("data/", parts_.layout.data_file);
  columns.push_back(
      whole_numbers("dataset_from_index", numbers([&](size_t i) { return plan.episodes[i].first_index; })));
  columns.push_back(whole_numbers(
      "dataset_to_index", numbers([&](size_t i) { return plan.episodes[i].first_index + plan.episode(i).length; })));
  for (size_t camera = 0; camera < parts_.layout.videos.size(); ++camera) {
    const std::string prefix = "videos/" + plan.model().cameras[camera].recorded_name + "/";
    add_file(prefix, parts_.layout.video_file[camera]);
    std::vector<double> from(count), to(count);
    for (size_t i = 0; i < count; ++i) {
      from[i] = parts_.spans[camera][first + i].from_s;
      to[i] = parts_.spans[camera][first + i].to_s;
    }
    columns.push_back({.name = prefix + "from_timestamp", .values = std::move(from)});
    columns.push_back({.name = prefix + "to_timestamp", .values = std::move(to)});
  }
  WriteColumn::TextLists tasks;
  for (size_t i = first; i < first + count; ++i) {
    tasks.push_back(plan.episode(i).tasks);
  }
  columns.push_back({.name = "tasks", .values = std::move(tasks)});
  columns.push_back(whole_numbers("length", numbers([&](size_t i) { return plan.episode(i).length; })));
}

void EpisodeTable::add_stats(size_t first, const std::vector<schema::NormStats>& stats,
                             std::vector<WriteColumn>& columns) const {
  const auto& features = parts_.plan.model().info.features;
  for (const auto& [name, shape] : stat_columns_) {
    const auto& [feature_name, stat] = name;
    const auto feature = std::find_if(features.begin(), features.end(),
                                      [&, &key = feature_name](const auto& f) { return f.recorded_name == key; });
    WriteColumn column{.name = str_cat("stats/", feature_name, "/", stat), .layout = Layout::kNested, .nesting = shape};
    std::vector<double> values;
    for (size_t row = 0; row < stats.size(); ++row) {
      const auto found = stats[row].find(feature_name);
      const std::vector<double>* here =
          found != stats[row].end() && found->second.has(stat) ? &found->second.at(stat) : nullptr;
      column.present.push_back(here ? 1 : 0);
      if (here && static_cast<int64_t>(here->size()) != size_of(shape)) {
        throw Error(ErrorKind::kData,
                    str_cat("statistic ", stat, " of ", feature_name, " has ", here->size(),
                            " values, in the episodes before ", size_of(shape)),
                    str_cat("episode ", first + row), "flexor dataset stats DIR --write --force");
      }
      if (here) {
        values.insert(values.end(), here->begin(), here->end());
      }
    }
    switch (stat_kind(feature == features.end() ? nullptr : &*feature, stat)) {
      case StatKind::kBool:
        column.values = std::vector<uint8_t>(values.begin(), values.end());
        break;
      case StatKind::kInt:
        column.values = std::vector<int64_t>(values.begin(), values.end());
        break;
      case StatKind::kFloat:
        column.values = std::move(values);
        break;
    }
    columns.push_back(std::move(column));
  }
}

std::vector<WriteColumn> EpisodeTable::columns(size_t first, const std::vector<schema::NormStats>& stats,
                                               int64_t file_number) const {
  std::vector<WriteColumn> columns;
  const size_t count = stats.size();
  add_places(first, count, columns);
  extras_.add(first, count, columns);
  add_stats(first, stats, columns);
  const FilePlace place = place_of(file_number);
  columns.push_back(whole_numbers("meta/episodes/chunk_index", std::vector<int64_t>(count, place.chunk)));
  columns.push_back(whole_numbers("meta/episodes/file_index", std::vector<int64_t>(count, place.file)));
  return columns;
}

}  // namespace flexor::curate
