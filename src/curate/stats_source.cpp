#include "curate/stats_source.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file_probe.h"
#include "base/str_cat.h"
#include "data/camera_files.h"
#include "table/parquet_reader.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

/// Whether the camera has pictures: an image column, or a video for every episode. One without any video is left out.
bool has_pictures(const data::FeatureInfo& camera, StatsSource& source) {
  if (camera.dtype == "image") {
    return true;
  }
  int64_t missing = 0;
  const data::EpisodeRecord* first = nullptr;
  std::set<std::string> known;
  for (const data::EpisodeRecord& record : source.records) {
    const auto video = record.videos.find(camera.recorded_name);
    if (video == record.videos.end() ||
        (!known.contains(video->second.file) && !is_regular_file(source.info.root + "/" + video->second.file))) {
      first = missing == 0 ? &record : first;
      ++missing;
    } else {
      known.insert(video->second.file);
    }
  }
  if (missing == static_cast<int64_t>(source.records.size())) {
    source.findings.push_back(data::camera_without_files(source.info, camera, source.records));
    return false;
  }
  if (missing > 0) {
    throw Error(ErrorKind::kFile,
                str_cat("no video of camera ", camera.recorded_name, " for ", missing, " of ", source.records.size(),
                        " episodes; the first is episode ", first->episode_index),
                source.info.root, "copy the files, or --no-video");
  }
  return true;
}

/// Features of numbers that the files hold; info.json may list others (returns of RECAP).
void find_numeric(StatsSource& source) {
  const auto reader = table::ParquetReader::open(source.rows.front().data_file);
  for (const data::FeatureInfo& feature : source.info.features) {
    if (!feature.is_numeric()) {
      continue;
    }
    if (reader.find(feature.recorded_name) != nullptr) {
      source.numeric.push_back(feature);
    } else {
      source.findings.push_back(
          {.code = "column_missing",
           .severity = data::Severity::kWarning,
           .file = fs::path(source.rows.front().data_file).lexically_relative(source.info.root).string(),
           .feature = feature.recorded_name,
           .message = "info.json lists the feature, the data have no such column; left out"});
    }
  }
}

}  // namespace

CameraEpisode StatsSource::camera_episode(const data::FeatureInfo& camera, size_t episode) const {
  const data::EpisodeRecord& record = records[episode];
  CameraEpisode result;
  result.fps = info.fps.value();
  result.column = camera.recorded_name;
  result.length = rows[episode].count;
  result.episode_index = record.episode_index;
  result.data_file = rows[episode].data_file;
  result.first_row = rows[episode].first_row;
  if (camera.dtype == "video") {
    const data::EpisodeRecord::Video& video = record.videos.at(camera.recorded_name);
    result.video_path = info.root + "/" + video.file;
    result.from_s = video.from_s;
  }
  return result;
}

StatsSource open_stats_source(std::string root) {
  while (root.size() > 1 && root.ends_with('/')) {
    root.pop_back();
  }
  StatsSource source;
  source.info = data::read_dataset_info(root, source.findings);
  source.records = data::read_episode_records(source.info, source.findings);
  std::vector<const data::EpisodeRecord*> selected;
  selected.reserve(source.records.size());
  for (const data::EpisodeRecord& record : source.records) {
    selected.push_back(&record);
  }
  source.rows = data::load_columns(source.info, selected, {}, source.findings).episodes;
  for (const data::LoadedColumns::Rows& rows : source.rows) {
    source.num_frames += rows.count;
  }
  if (source.num_frames == 0) {
    throw Error(ErrorKind::kData, "the dataset has no frames", root);
  }
  find_numeric(source);
  for (const data::FeatureInfo& feature : source.info.features) {
    if (feature.is_camera() && !feature.is_depth && has_pictures(feature, source)) {
      source.cameras.push_back(feature);
    }
  }
  if (data::has_errors(source.findings)) {
    data::report_findings(source.findings, root);
  }
  return source;
}

}  // namespace flexor::curate
