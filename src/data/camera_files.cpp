#include "data/camera_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/file_probe.h"
#include "data/column_loader.h"

namespace flexor::data {
namespace {

/// Names of the cameras to which files with their name in the path belong: those with a video, and depth, which is not
/// read.
std::vector<std::string> cameras_with_files(const DatasetInfo& info, const std::vector<EpisodeRecord>& records) {
  std::vector<std::string> names;
  for (const FeatureInfo& camera : info.features) {
    const auto has_video = [&](const EpisodeRecord& record) {
      const auto video = record.videos.find(camera.recorded_name);
      return video != record.videos.end() && is_regular_file(info.root + "/" + video->second.file);
    };
    if (camera.dtype == "video" && (camera.is_depth || std::any_of(records.begin(), records.end(), has_video))) {
      names.push_back("/" + camera.recorded_name + "/");
    }
  }
  return names;
}

/// The first video below videos/ that belongs to no camera.
std::optional<std::string> stray_video(const DatasetInfo& info, const std::vector<EpisodeRecord>& records) {
  const std::vector<std::string> files = list_files(info.root, "videos", ".mp4");
  if (files.empty()) {
    return std::nullopt;
  }
  std::set<std::string> named;
  for (const EpisodeRecord& record : records) {
    for (const auto& video : record.videos) {
      named.insert(video.second.file);
    }
  }
  const std::vector<std::string> cameras = cameras_with_files(info, records);
  const auto stray = std::find_if(files.begin(), files.end(), [&](const std::string& file) {
    return !named.contains(file) && std::none_of(cameras.begin(), cameras.end(), [&](const std::string& name) {
      return file.find(name) != std::string::npos;
    });
  });
  return stray == files.end() ? std::nullopt : std::optional(*stray);
}

}  // namespace

Finding camera_without_files(const DatasetInfo& info, const FeatureInfo& camera,
                             const std::vector<EpisodeRecord>& records) {
  const auto stray = stray_video(info, records);
  if (!stray) {
    return {.code = "camera_without_files",
            .severity = Severity::kWarning,
            .feature = camera.recorded_name,
            .message = "no episode has a video of the camera; it is left out"};
  }
  Finding finding{.code = "camera_misplaced",
                  .severity = Severity::kError,
                  .file = "meta/info.json",
                  .feature = camera.recorded_name,
                  .found = *stray,
                  .message = "no episode has a video of the camera, and there are videos that no camera leads to"};
  const auto named = std::find_if(records.begin(), records.end(), [&](const EpisodeRecord& record) {
    return record.videos.contains(camera.recorded_name);
  });
  if (named == records.end()) {
    finding.expected = "metadata of the episodes that name its files";
    finding.hint = "take the camera out of meta/info.json, or correct its name there and in the episodes";
  } else {
    finding.expected = named->videos.find(camera.recorded_name)->second.file;
    finding.hint = "correct video_path or the camera's name in meta/info.json, or take the camera out of it";
  }
  return finding;
}

}  // namespace flexor::data
