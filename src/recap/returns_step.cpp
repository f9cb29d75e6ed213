#include "recap/returns_step.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/returns.h"
#include "recap/returns_places.h"
#include "recap/returns_scan.h"
#include "recap/sidecar.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// One dataset, with the values of the section filled in.
struct Task {
  DatasetEntry entry;
  std::string type, source, output;  ///< output: "" in place
  double gamma = 1, failure_reward = 0;
  ReturnsScan scan;
  ScalarStats return_stats, reward_stats;
};

std::vector<Task> tasks_of(const DataSection& data) {
  std::vector<Task> tasks;
  for (DatasetEntry& entry : returns_entries(data)) {
    Task& task = tasks.emplace_back();
    task.type = entry.type.empty() ? data.dataset_type : entry.type;
    task.source = fs::path(resolved_path(data, entry.dataset_path)).lexically_normal().string();
    while (task.source.size() > 1 && task.source.back() == '/') {
      task.source.pop_back();
    }
    task.output = resolved_path(data, entry.output_path);
    task.gamma = entry.gamma.value_or(data.gamma);
    task.failure_reward = entry.failure_reward ? *entry.failure_reward : data.failure_reward.value();
    task.entry = std::move(entry);
  }
  return tasks;
}

/// Calls body(episode, returns, rewards) for every episode in order.
template <typename Body>
void for_each_episode(const Task& task, const Body& body) {
  std::vector<float> returns, rewards;
  for (const ScannedEpisode& episode : task.scan.episodes) {
    returns.resize(static_cast<size_t>(episode.length));
    rewards.resize(static_cast<size_t>(episode.length));
    episode_returns(episode.success, task.gamma, task.failure_reward, returns, rewards);
    body(episode, returns, rewards);
  }
}

/// Collects rows and writes them in row groups.
class SidecarWriter {
 public:
  SidecarWriter(const std::string& path, std::map<std::string, std::string> metadata)
      : writer_(path, std::move(metadata)) {}

  void add(const ScannedEpisode& episode, const std::vector<float>& returns, const std::vector<float>& rewards) {
    episodes_.insert(episodes_.end(), returns.size(), episode.episode_index);
    for (size_t t = 0; t < returns.size(); ++t) {
      frames_.push_back(episode.frame_index.empty() ? static_cast<int64_t>(t) : episode.frame_index[t]);
    }
    returns_.insert(returns_.end(), returns.begin(), returns.end());
    rewards_.insert(rewards_.end(), rewards.begin(), rewards.end());
    for (const ScannedEpisode::Prompt& prompt : episode.prompts) {
      prompts_.insert(prompts_.end(), static_cast<size_t>(prompt.count), prompt.text);
    }
    constexpr size_t kRowGroup = 1 << 17;
    if (episodes_.size() >= kRowGroup) {
      flush();
    }
  }

  void close() {
    if (!episodes_.empty()) {
      flush();
    }
    writer_.close();
  }

 private:
  void flush() {
    const auto column = [](const char* name, auto& values) {
      return table::WriteColumn{.name = name, .values = std::move(values)};
    };
    writer_.write_row_group({column("episode_index", episodes_), column("frame_index", frames_),
                             column("return", returns_), column("reward", rewards_), column("prompt", prompts_)});
    episodes_ = {}, frames_ = {}, returns_ = {}, rewards_ = {}, prompts_ = {};
  }

  table::ParquetWriter writer_;
  std::vector<int64_t> episodes_, frames_;
  std::vector<float> returns_, rewards_;
  std::vector<std::string> prompts_;
};

std::string sidecar_metadata(const Task& task, const std::string& tag) {
  return Json::object({{"step", "returns"},
                       {"tag", tag},
                       {"type", task.type},
                       {"gamma", task.gamma},
                       {"failure_reward", task.failure_reward},
                       {"episodes", task.scan.episodes.size()},
                       {"successes", task.scan.num_successes},
                       {"frames", task.scan.num_frames},
                       {"return", task.return_stats.to_json()},
                       {"reward", task.reward_stats.to_json()}})
      .dump();
}

void merge_stats(const std::string& root, const Task& task) {
  const std::string path = root + "/meta/stats.json";
  Json stats = fs::exists(path) ? Json::read_file(path) : Json::object();
  stats["return"] = task.return_stats.to_json();
  stats["reward"] = task.reward_stats.to_json();
  write_file_atomic(path, stats.dump(2));
}

void merge_info(const std::string& root) {
  const std::string path = root + "/meta/info.json";
  if (!fs::exists(path)) {
    return;
  }
  Json info = Json::read_file(path);
  const auto feature = [](const char* dtype) {
    return Json::object({{"dtype", dtype}, {"shape", Json(Json::Array{Json(1)})}, {"names", nullptr}});
  };
  Json& features = info["features"];
  features["return"] = feature("float32");
  features["reward"] = feature("float32");
  features["prompt"] = feature("string");
  write_file_atomic(path, info.dump(2));
}

/// @return  path of the sidecar
std::string write_dataset(const Task& task, const std::string& tag) {
  std::optional<StagedFolder> copy;
  std::string root = task.source;
  if (!task.output.empty()) {
    copy.emplace(task.output);
    root = copy->path();
    fs::copy(task.source, root, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  const std::string name = sidecar_name("returns", tag);
  SidecarWriter writer(str_cat(root, "/meta/", name), {{std::string(kSidecarMetadata), sidecar_metadata(task, tag)}});
  for_each_episode(
      task, [&](const ScannedEpisode& episode, const std::vector<float>& returns, const std::vector<float>& rewards) {
        check_interrupt();
        writer.add(episode, returns, rewards);
      });
  writer.close();
  merge_stats(root, task);
  merge_info(root);
  if (copy) {
    copy->commit();
  }
  return str_cat(task.output.empty() ? task.source : task.output, "/meta/", name);
}

}  // namespace

std::vector<ReturnsReport> compute_returns(const RecapConfig& config) {
  const DataSection& data = config.returns.data;
  const int num_threads = static_cast<int>(
      std::max<int64_t>(1, data.num_workers.value_or(std::max(1U, std::thread::hardware_concurrency()))));
  std::vector<Task> tasks = tasks_of(data);
  std::vector<ReturnsPlace> places;
  for (const Task& task : tasks) {
    places.push_back({task.source, task.output});
  }
  check_places(places);
  for (Task& task : tasks) {
    check_merged_files(task.source);
    task.scan = scan_for_returns(task.source, task.entry, task.type, num_threads);
    for_each_episode(
        task, [&task](const ScannedEpisode&, const std::vector<float>& returns, const std::vector<float>& rewards) {
          task.return_stats.add(returns);
          task.reward_stats.add(rewards);
        });
  }
  std::vector<ReturnsReport> reports;
  for (const Task& task : tasks) {
    const std::string sidecar = write_dataset(task, data.tag);
    log_info("returns written", {{"file", sidecar},
                                 {"episodes", task.scan.episodes.size()},
                                 {"successes", task.scan.num_successes},
                                 {"frames", task.scan.num_frames}});
    reports.push_back({.name = task.entry.shown_name(),
                       .type = task.type,
                       .sidecar = sidecar,
                       .episodes = static_cast<int64_t>(task.scan.episodes.size()),
                       .successes = task.scan.num_successes,
                       .frames = task.scan.num_frames,
                       .return_stats = task.return_stats.to_json(),
                       .reward_stats = task.reward_stats.to_json()});
  }
  return reports;
}

}  // namespace flexor::recap
