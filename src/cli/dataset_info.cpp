#include "data/dataset_info.h"

#include <cmath>
#include <map>
#include <ostream>
#include <set>

#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "config/command_line.h"
#include "data/dataset.h"

namespace flexor::cli {
namespace {

struct Options {
  std::string root;
  bool json = false;
};

void fields(config::FieldTable& table, Options& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("json", o.json, "print one JSON object instead of text");
}

/// Frames of the shortest, the median and the longest episode.
struct Lengths {
  int64_t min = 0, median = 0, max = 0;
};

Lengths episode_lengths(const data::Dataset& dataset) {
  std::multiset<int64_t> lengths;
  for (int64_t i = 0; i < dataset.num_episodes(); ++i) {
    lengths.insert(dataset.episode(i).length);
  }
  if (lengths.empty()) {
    return {};
  }
  return {*lengths.begin(), *std::next(lengths.begin(), static_cast<ptrdiff_t>(lengths.size() / 2)), *lengths.rbegin()};
}

/// Episodes per task text; an episode of several tasks counts for each.
std::map<std::string, int64_t> task_counts(const data::Dataset& dataset) {
  std::map<std::string, int64_t> counts;
  for (int64_t i = 0; i < dataset.num_episodes(); ++i) {
    for (const std::string& task : dataset.episode(i).tasks) {
      ++counts[task];
    }
  }
  return counts;
}

std::vector<std::string> stat_names(const data::Dataset& dataset, const std::string& feature) {
  std::vector<std::string> names;
  const auto found = dataset.stats().find(feature);
  if (found != dataset.stats().end()) {
    for (const auto& [name, values] : found->second.values) {
      names.push_back(name);
    }
  }
  return names;
}

Json describe(const data::Dataset& dataset) {
  const data::DatasetInfo& info = dataset.info();
  const Lengths lengths = episode_lengths(dataset);
  Json features = Json::array(), tasks = Json::array(), findings = Json::array(), cameras = Json::array();
  for (const data::FeatureInfo& feature : info.features) {
    features.push_back(Json::object({{"name", feature.name},
                                     {"recorded_name", feature.recorded_name},
                                     {"dtype", feature.dtype},
                                     {"shape", Json(feature.shape)},
                                     {"names", Json(feature.names)},
                                     {"statistics", Json(stat_names(dataset, feature.name))}}));
  }
  for (const auto& [task, episodes] : task_counts(dataset)) {
    tasks.push_back(Json::object({{"task", task}, {"episodes", episodes}}));
  }
  for (const data::FeatureInfo& camera : dataset.cameras()) {
    cameras.push_back(camera.name);
  }
  for (const data::Finding& finding : dataset.findings()) {
    findings.push_back(data::to_json(finding));
  }
  return Json::object(
      {{"dataset", info.root},
       {"version", info.version},
       {"robot_type", info.robot_type.empty() ? Json() : Json(info.robot_type)},
       {"fps", info.fps.den == 1 ? Json(info.fps.num) : Json(info.fps.value())},
       {"episodes", dataset.num_episodes()},
       {"frames", dataset.num_frames()},
       {"seconds", static_cast<double>(dataset.num_frames()) / info.fps.value()},
       {"episode_frames", Json::object({{"min", lengths.min}, {"median", lengths.median}, {"max", lengths.max}})},
       {"cameras", cameras},
       {"features", features},
       {"tasks", tasks},
       {"findings", findings}});
}

std::string shape_of(const data::FeatureInfo& feature) {
  std::vector<std::string> sizes;
  for (const int64_t size : feature.shape) {
    sizes.push_back(str_cat(size));
  }
  return str_cat("[", join_text(sizes, ", "), "]");
}

void print_features(std::ostream& out, const data::Dataset& dataset) {
  size_t width = 0;
  for (const data::FeatureInfo& feature : dataset.info().features) {
    width = std::max(width, feature.name.size());
  }
  out << "features\n";
  for (const data::FeatureInfo& feature : dataset.info().features) {
    out << "  " << feature.name << std::string(width - feature.name.size() + 2, ' ') << feature.dtype << ' '
        << shape_of(feature);
    if (feature.recorded_name != feature.name) {
      out << "  recorded as " << feature.recorded_name;
    }
    if (const Json* codec = feature.info.find("video.codec"); codec != nullptr && codec->is_string()) {
      out << "  " << codec->as_string();
    }
    const std::vector<std::string> stats = stat_names(dataset, feature.name);
    out << "  " << (stats.empty() ? "no statistics" : join_text(stats, " ")) << '\n';
    if (!feature.is_camera() && feature.names.size() > 1) {
      out << std::string(width + 4, ' ') << join_text(feature.names, ", ") << '\n';
    }
  }
}

void print(std::ostream& out, const data::Dataset& dataset) {
  const data::DatasetInfo& info = dataset.info();
  const Lengths lengths = episode_lengths(dataset);
  const double seconds = static_cast<double>(dataset.num_frames()) / info.fps.value();
  out << "dataset   " << info.root << "\nformat    LeRobot " << info.version << ", " << info.fps.value()
      << " frames/s\nrobot     " << (info.robot_type.empty() ? "unknown" : info.robot_type) << "\nepisodes  "
      << dataset.num_episodes() << ", " << lengths.min << " to " << lengths.max << " frames (median " << lengths.median
      << ")\nframes    " << dataset.num_frames() << ", " << human_seconds(seconds) << '\n';
  print_features(out, dataset);
  const auto tasks = task_counts(dataset);
  out << "tasks\n";
  for (const auto& [task, episodes] : tasks) {
    out << "  " << task << "  (" << episodes << (episodes == 1 ? " episode" : " episodes") << ")\n";
  }
  for (const data::Finding& finding : dataset.findings()) {
    out << (finding.severity == data::Severity::kError ? "error    " : "warning  ") << ' ' << finding.message;
    const std::string where = finding.where();
    out << (where.empty() ? "" : " (" + where + ")") << '\n';
  }
}

int run(const Args& args, const Io& io) {
  const auto options = config::parse<Options>(args);
  const data::Dataset dataset =
      data::Dataset::open({.root = options.root, .episodes = {}, .rename_map = {}, .columns = {}});
  if (options.json) {
    io.out << describe(dataset).dump() << '\n';
  } else {
    print(io.out, dataset);
  }
  return 0;
}

}  // namespace

const Command kDatasetInfo{
    .path = "dataset info",
    .summary = "Show a dataset's format, robot, features, tasks and episodes.",
    .notes = "LeRobot v2.0, v2.1 and v3.0. Oddities that a training run would accept are listed as warnings.\n",
    .usage = &config::usage<Options>,
    .run = &run};

}  // namespace flexor::cli
