#include "curate/rewritten_info.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "curate/file_groups.h"
#include "data/path_template.h"
#include "media/video_reader.h"

namespace flexor::curate {
namespace {

constexpr std::string_view kDataPathV21 = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet";
constexpr std::string_view kVideoPathV21 =
    "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4";
constexpr std::string_view kDataPathV30 = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet";
constexpr std::string_view kVideoPathV30 = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";

/// Keys of info.json that are written anew, in the order of the recorder's file.
constexpr std::array<std::string_view, 15> kKeys = {"codebase_version",
                                                    "robot_type",
                                                    "total_episodes",
                                                    "total_frames",
                                                    "total_tasks",
                                                    "total_videos",
                                                    "total_chunks",
                                                    "chunks_size",
                                                    "data_files_size_in_mb",
                                                    "video_files_size_in_mb",
                                                    "fps",
                                                    "splits",
                                                    "data_path",
                                                    "video_path",
                                                    "features"};

Json whole_or_not(double value) {
  return value == std::floor(value) ? Json(static_cast<int64_t>(value)) : Json(value);
}

constexpr std::array<std::string_view, 7> kVideoFacts = {
    "video.height", "video.width", "video.codec", "video.pix_fmt", "video.fps", "video.channels", "has_audio"};

/// The facts of a camera's stream under the keys of info.json; what the source says about it stays.
Json video_facts(const data::FeatureInfo& camera, const std::string& path) {
  Json facts = camera.info.is_object() ? camera.info : Json::object();
  if (!facts.find("is_depth_map") && !facts.find("video.is_depth_map")) {
    facts["video.is_depth_map"] = camera.is_depth;
  }
  if (std::all_of(kVideoFacts.begin(), kVideoFacts.end(), [&](std::string_view key) { return facts.find(key); })) {
    return facts;
  }
  const media::VideoInfo video = media::probe_video(path);
  const std::array<Json, kVideoFacts.size()> found = {video.height,
                                                      video.width,
                                                      video.codec,
                                                      video.pix_fmt,
                                                      static_cast<int64_t>(std::llround(video.fps.value())),
                                                      camera.is_depth ? 1 : 3,
                                                      false};
  for (size_t i = 0; i < kVideoFacts.size(); ++i) {
    if (!facts.find(kVideoFacts[i])) {
      facts[kVideoFacts[i]] = found[i];
    }
  }
  return facts;
}

Json feature_json(const Json& said, const data::FeatureInfo& feature, const RewritePlan& plan, TargetVersion version) {
  Json json = said;
  json.erase("fps");
  if (feature.dtype != "video") {
    if (version == TargetVersion::kV30) {
      json["fps"] = static_cast<int64_t>(plan.model().info.fps.value());
    }
    return json;
  }
  const auto& cameras = plan.model().cameras;
  const auto camera = std::find_if(cameras.begin(), cameras.end(),
                                   [&](const auto& c) { return c.recorded_name == feature.recorded_name; });
  json.erase("video_info");  // the key of v2.0
  json["info"] = video_facts(feature, plan.video(0, static_cast<size_t>(camera - cameras.begin())).path);
  return json;
}

bool is_absent(const RewritePlan& plan, const std::string& name) {
  const auto& absent = plan.model().absent_cameras;
  return std::find(absent.begin(), absent.end(), name) != absent.end();
}

Json features_json(const RewritePlan& plan, TargetVersion version) {
  const data::DatasetInfo& info = plan.model().info;
  Json features = Json::object();
  for (const data::FeatureInfo& feature : info.features) {
    if (!is_absent(plan, feature.recorded_name)) {
      features[feature.recorded_name] =
          feature_json(info.json.at("features").at(feature.recorded_name), feature, plan, version);
    }
  }
  for (const TableColumn& column : table_columns(plan)) {
    if (!features.find(column.form.name)) {  // a numbering column that info.json does not list
      const Json said =
          Json::object({{"dtype", column.feature.dtype}, {"shape", Json(std::vector<int64_t>{1})}, {"names", Json()}});
      features[column.form.name] = feature_json(said, column.feature, plan, version);
    }
  }
  return features;
}

Json fps_json(const data::DatasetInfo& info, TargetVersion version) {
  if (info.fps.den != 1 && version == TargetVersion::kV30) {
    throw Error(ErrorKind::kData, str_cat("fps is ", info.fps.value(), ", v3.0 knows whole numbers only"),
                info.info_path, "convert to v2.1, or record at a whole rate");
  }
  return info.fps.den == 1 ? Json(info.fps.num) : Json(info.fps.value());
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

std::string_view version_name(TargetVersion version) {
  return version == TargetVersion::kV30 ? "v3.0" : "v2.1";
}

Json rewritten_info(const RewritePlan& plan, TargetVersion version, const FileLimits& limits) {
  const data::DatasetInfo& source = plan.model().info;
  const auto episodes = static_cast<int64_t>(plan.episodes.size());
  const auto cameras = static_cast<int64_t>(plan.model().cameras.size());
  const bool is_v30 = version == TargetVersion::kV30;
  const Json* robot = source.json.find("robot_type");
  Json info = Json::object({{"codebase_version", version_name(version)},
                            {"robot_type", robot ? *robot : Json()},
                            {"total_episodes", episodes},
                            {"total_frames", plan.num_frames},
                            {"total_tasks", plan.tasks.size()}});
  if (!is_v30) {
    info["total_videos"] = episodes * cameras;
    info["total_chunks"] = ceil_div(episodes, source.chunks_size);
  }
  info["chunks_size"] = source.chunks_size;
  if (is_v30) {
    info["data_files_size_in_mb"] = whole_or_not(limits.data_mb);
    info["video_files_size_in_mb"] = whole_or_not(limits.video_mb);
  }
  info["fps"] = fps_json(source, version);
  info["splits"] = plan.splits;
  info["data_path"] = is_v30 ? kDataPathV30 : kDataPathV21;
  info["video_path"] = cameras == 0 ? Json() : Json(is_v30 ? kVideoPathV30 : kVideoPathV21);
  info["features"] = features_json(plan, version);
  for (const auto& [key, value] : source.json.as_object()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      info[key] = value;
    }
  }
  return info;
}

std::string data_path_v21(int64_t episode, int64_t chunks_size) {
  return data::fill_template(kDataPathV21, {{"episode_chunk", episode / chunks_size}, {"episode_index", episode}}, "");
}

std::string video_path_v21(int64_t episode, int64_t chunks_size, const std::string& camera) {
  return data::fill_template(
      kVideoPathV21, {{"episode_chunk", episode / chunks_size}, {"episode_index", episode}, {"video_key", camera}}, "");
}

std::string data_path_v30(int64_t file_number) {
  const FilePlace place = place_of(file_number);
  return data::fill_template(kDataPathV30, {{"chunk_index", place.chunk}, {"file_index", place.file}}, "");
}

std::string video_path_v30(int64_t file_number, const std::string& camera) {
  const FilePlace place = place_of(file_number);
  return data::fill_template(kVideoPathV30,
                             {{"chunk_index", place.chunk}, {"file_index", place.file}, {"video_key", camera}}, "");
}

}  // namespace flexor::curate
