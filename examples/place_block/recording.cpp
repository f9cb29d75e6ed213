#include "recording.h"

#include <numeric>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "camera.h"
#include "curate/stats.h"
#include "curate/stats_write.h"

namespace flexor::place_block {
namespace {

using table::WriteColumn;

WriteColumn vectors(const std::string& name, const std::vector<std::array<float, 3>>& rows) {
  std::vector<float> values;
  for (const std::array<float, 3>& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
  }
  return {.name = name, .layout = table::Layout::kFixedList, .width = 3, .values = std::move(values)};
}

WriteColumn counted(const std::string& name, size_t count, int64_t first, int64_t step) {
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = first + static_cast<int64_t>(i) * step;
  }
  return {.name = name, .values = std::move(values)};
}

WriteColumn times(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i) / kFps;
  }
  return {.name = "timestamp", .values = std::move(values)};
}

Json feature(std::string_view dtype, std::vector<int64_t> shape, Json names = nullptr) {
  return Json::object({{"dtype", dtype}, {"shape", shape}, {"names", std::move(names)}});
}

Json features() {
  constexpr int64_t kSize = kPictureSize;
  Json result = Json::object();
  result[kCamera] = feature("image", {kSize, kSize, 3}, Json::Array{"height", "width", "channels"});
  result["observation.state"] = feature("float32", {3}, Json::Array{"x", "y", "opening"});
  result["action"] = feature("float32", {3}, Json::Array{"dx", "dy", "opening"});
  result["is_success"] = feature("bool", {1});
  result["timestamp"] = feature("float32", {1});
  for (const char* name : {"frame_index", "episode_index", "index", "task_index"}) {
    result[name] = feature("int64", {1});
  }
  return result;
}

}  // namespace

Recording::Recording(std::string root) : root_(std::move(root)), frames_(root_ + "/data/chunk-000/file-000.parquet") {}

void Recording::add(Episode episode) {
  const size_t length = episode.states.size();
  const auto index = static_cast<int64_t>(lengths_.size());
  std::vector<table::ImageCell> pictures;
  for (size_t i = 0; i < length; ++i) {
    pictures.push_back({std::move(episode.pictures[i]), {}});
  }
  frames_.write_row_group({{.name = std::string(kCamera), .values = std::move(pictures)},
                           vectors("observation.state", episode.states),
                           vectors("action", episode.actions),
                           {.name = "is_success", .values = std::vector<uint8_t>(length, episode.success ? 1 : 0)},
                           times(length),
                           counted("frame_index", length, 0, 1),
                           counted("episode_index", length, index, 0),
                           counted("index", length, num_frames_, 1),
                           counted("task_index", length, 0, 0)});
  lengths_.push_back(static_cast<int64_t>(length));
  behaviours_.push_back(std::move(episode.behaviour));
  num_frames_ += static_cast<int64_t>(length);
}

void Recording::finish() {
  frames_.close();
  write_episodes();
  write_tasks();
  write_info();
  write_statistics();
}

void Recording::write_episodes() const {
  const size_t count = lengths_.size();
  std::vector<int64_t> ends(count);
  std::partial_sum(lengths_.begin(), lengths_.end(), ends.begin());
  std::vector<int64_t> starts = ends;
  for (size_t i = 0; i < count; ++i) {
    starts[i] -= lengths_[i];
  }
  const WriteColumn::TextLists tasks(count, {std::string(kTask)});
  table::write_parquet(root_ + "/meta/episodes/chunk-000/file-000.parquet",
                       {counted("episode_index", count, 0, 1),
                        {.name = "tasks", .values = tasks},
                        {.name = "length", .values = lengths_},
                        counted("data/chunk_index", count, 0, 0),
                        counted("data/file_index", count, 0, 0),
                        {.name = "dataset_from_index", .values = starts},
                        {.name = "dataset_to_index", .values = ends},
                        {.name = "behaviour", .values = behaviours_},
                        counted("meta/episodes/chunk_index", count, 0, 0),
                        counted("meta/episodes/file_index", count, 0, 0)});
}

void Recording::write_tasks() const {
  const auto described = [](const char* name, const char* kind, const char* numpy) {
    return Json::object(
        {{"name", name}, {"field_name", name}, {"pandas_type", kind}, {"numpy_type", numpy}, {"metadata", nullptr}});
  };
  const Json pandas = Json::object(
      {{"index_columns", Json::Array{"task"}},
       {"column_indexes", Json::array()},
       {"columns", Json::Array{described("task_index", "int64", "int64"), described("task", "unicode", "object")}},
       {"pandas_version", "2.0.0"}});
  table::write_parquet(
      root_ + "/meta/tasks.parquet",
      {counted("task_index", 1, 0, 0), {.name = "task", .values = std::vector<std::string>{std::string(kTask)}}},
      {{"pandas", pandas.dump()}});
}

void Recording::write_info() const {
  const Json info = Json::object({{"codebase_version", "v3.0"},
                                  {"robot_type", "place_block"},
                                  {"total_episodes", lengths_.size()},
                                  {"total_frames", num_frames_},
                                  {"total_tasks", 1},
                                  {"chunks_size", 1000},
                                  {"data_files_size_in_mb", 100},
                                  {"video_files_size_in_mb", 200},
                                  {"fps", kFps},
                                  {"splits", Json::object({{"train", "0:" + std::to_string(lengths_.size())}})},
                                  {"data_path", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"},
                                  {"video_path", nullptr},
                                  {"features", features()}});
  write_file_atomic(root_ + "/meta/info.json", info.dump(4) + "\n");
}

void Recording::write_statistics() const {
  const curate::StatsSource source = curate::open_stats_source(root_);
  std::vector<const data::FeatureInfo*> wanted;
  for (const std::vector<data::FeatureInfo>* list : {&source.numeric, &source.cameras}) {
    for (const data::FeatureInfo& one : *list) {
      wanted.push_back(&one);
    }
  }
  ThreadPool pool(2);
  curate::write_stats(source, curate::dataset_stats(source, wanted, pool, {}));
}

}  // namespace flexor::place_block
