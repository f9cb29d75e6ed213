#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <vector>

#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "curate/overview.h"

namespace flexor::cli {
namespace {

using curate::CameraOverview;
using curate::DatasetOverview;

struct DatasetInfoOptions {
  std::string root;
  bool json = false;
};

void fields(config::FieldTable& table, DatasetInfoOptions& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("json", o.json, "print one JSON object instead of text");
}

/// Frames of the shortest, the median and the longest episode.
struct Lengths {
  int64_t min = 0, median = 0, max = 0;
};

Lengths episode_lengths(const DatasetOverview& dataset) {
  std::vector<int64_t> lengths;
  for (const data::EpisodeRecord& record : dataset.episodes) {
    lengths.push_back(record.length);
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths.empty() ? Lengths{} : Lengths{lengths.front(), lengths[lengths.size() / 2], lengths.back()};
}

std::vector<std::string> stat_names(const DatasetOverview& dataset, const data::FeatureInfo& feature) {
  std::vector<std::string> names;
  const auto found = dataset.stats.find(feature.recorded_name);
  if (found != dataset.stats.end()) {
    for (const auto& [name, values] : found->second.values) {
      names.push_back(name);
    }
  }
  return names;
}

const CameraOverview* find_camera(const DatasetOverview& dataset, const data::FeatureInfo& feature) {
  const auto found = std::find_if(dataset.cameras.begin(), dataset.cameras.end(),
                                  [&](const CameraOverview& camera) { return camera.name == feature.name; });
  return found == dataset.cameras.end() ? nullptr : &*found;
}

Json describe_feature(const DatasetOverview& dataset, const data::FeatureInfo& feature) {
  Json result = Json::object({{"name", feature.name},
                              {"recorded_name", feature.recorded_name},
                              {"dtype", feature.dtype},
                              {"shape", Json(feature.shape)},
                              {"names", Json(feature.names)},
                              {"statistics", Json(stat_names(dataset, feature))}});
  if (feature.is_camera()) {
    const CameraOverview* camera = find_camera(dataset, feature);
    result["video"] = camera && camera->video ? Json::object({{"codec", camera->video->codec},
                                                              {"pix_fmt", camera->video->pix_fmt},
                                                              {"height", camera->video->height},
                                                              {"width", camera->video->width},
                                                              {"fps", camera->video->fps.value()}})
                                              : Json();
  }
  return result;
}

Json describe(const DatasetOverview& dataset) {
  const data::DatasetInfo& info = dataset.info;
  const Lengths lengths = episode_lengths(dataset);
  Json features = Json::array(), tasks = Json::array(), findings = Json::array(), cameras = Json::array();
  for (const data::FeatureInfo& feature : info.features) {
    features.push_back(describe_feature(dataset, feature));
  }
  for (const auto& [task, episodes] : dataset.task_counts()) {
    tasks.push_back(Json::object({{"task", task}, {"episodes", episodes}}));
  }
  for (const CameraOverview& camera : dataset.cameras) {
    cameras.push_back(camera.name);
  }
  for (const data::Finding& finding : dataset.findings) {
    findings.push_back(data::to_json(finding));
  }
  return Json::object(
      {{"dataset", info.root},
       {"version", info.version},
       {"robot_type", info.robot_type.empty() ? Json() : Json(info.robot_type)},
       {"fps", info.fps.den == 1 ? Json(info.fps.num) : Json(info.fps.value())},
       {"episodes", dataset.episodes.size()},
       {"frames", dataset.frames},
       {"seconds", dataset.seconds()},
       {"hours", dataset.seconds() / 3600},
       {"episode_frames", Json::object({{"min", lengths.min}, {"median", lengths.median}, {"max", lengths.max}})},
       {"cameras", cameras},
       {"features", features},
       {"tasks", tasks},
       {"has_statistics", !dataset.stats.empty()},
       {"size_bytes", static_cast<int64_t>(dataset.bytes)},
       {"findings", findings}});
}

std::string shape_of(const data::FeatureInfo& feature) {
  std::vector<std::string> sizes;
  for (const int64_t size : feature.shape) {
    sizes.push_back(str_cat(size));
  }
  return str_cat("[", join_text(sizes, ", "), "]");
}

/// "h264 yuv420p 640x480", or why there is none.
std::string camera_text(const DatasetOverview& dataset, const data::FeatureInfo& feature) {
  const CameraOverview* camera = find_camera(dataset, feature);
  if (!camera) {
    return feature.is_depth ? "depth, not used" : "no files";
  }
  if (!camera->video) {
    return feature.dtype == "image" ? "encoded pictures in Parquet" : "cannot be opened";
  }
  const media::VideoInfo& video = *camera->video;
  return str_cat(video.codec, video.pix_fmt.empty() ? "" : " ", video.pix_fmt, " ", video.width, "x", video.height);
}

void print_features(std::ostream& out, const DatasetOverview& dataset) {
  size_t width = 0;
  for (const data::FeatureInfo& feature : dataset.info.features) {
    width = std::max(width, feature.name.size());
  }
  out << "features\n";
  for (const data::FeatureInfo& feature : dataset.info.features) {
    out << "  " << feature.name << std::string(width - feature.name.size() + 2, ' ') << feature.dtype << ' '
        << shape_of(feature);
    if (feature.is_camera()) {
      out << "  " << camera_text(dataset, feature);
    }
    const std::vector<std::string> stats = stat_names(dataset, feature);
    out << "  " << (stats.empty() ? "no statistics" : join_text(stats, " ")) << '\n';
    if (!feature.is_camera() && feature.names.size() > 1) {
      out << std::string(width + 4, ' ') << join_text(feature.names, ", ") << '\n';
    }
  }
}

void print(std::ostream& out, const DatasetOverview& dataset) {
  const data::DatasetInfo& info = dataset.info;
  const Lengths lengths = episode_lengths(dataset);
  out << "dataset   " << info.root << "\nformat    LeRobot " << info.version << ", " << info.fps.value()
      << " frames/s\nrobot     " << (info.robot_type.empty() ? "unknown" : info.robot_type) << "\nepisodes  "
      << dataset.episodes.size() << ", " << lengths.min << " to " << lengths.max << " frames (median " << lengths.median
      << ")\nframes    " << dataset.frames << ", " << human_seconds(dataset.seconds()) << " ("
      << short_number(dataset.seconds() / 3600, 3) << " hours)\nsize      "
      << human_bytes(static_cast<double>(dataset.bytes)) << "\nstats     "
      << (dataset.stats.empty() ? "none stored" : "stored") << '\n';
  print_features(out, dataset);
  out << "tasks\n";
  for (const auto& [task, episodes] : dataset.task_counts()) {
    out << "  " << task << "  (" << episodes << (episodes == 1 ? " episode" : " episodes") << ")\n";
  }
  for (const data::Finding& finding : dataset.findings) {
    const std::string where = finding.where();
    out << (finding.severity == data::Severity::kError ? "error    " : "warning  ") << ' ' << data::describe(finding)
        << (where.empty() ? "" : " (" + where + ")") << '\n';
  }
}

int run_dataset_info(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetInfoOptions>(args);
  const DatasetOverview dataset = curate::read_overview(options.root);
  if (options.json) {
    print_json(io.out, describe(dataset));
  } else {
    print(io.out, dataset);
  }
  return 0;
}

}  // namespace

const Command kDatasetInfo{.path = "dataset info",
                           .summary = "Show a dataset's format, robot, features, cameras, tasks and size.",
                           .notes =
                               "LeRobot v2.0, v2.1 and v3.0, as the metadata describe them; oddities of the metadata "
                               "are listed. `flexor dataset "
                               "verify` compares them with the data.\n",
                           .usage = &config::usage<DatasetInfoOptions>,
                           .run = &run_dataset_info};

}  // namespace flexor::cli
