#include "curate/overview.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "data/camera_files.h"
#include "data/dataset_stats.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

uint64_t folder_bytes(const std::string& root) {
  uint64_t bytes = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator it(root, fs::directory_options::follow_directory_symlink, code), end;
       !code && it != end; it.increment(code)) {
    std::error_code not_a_file;
    const auto size = it->is_regular_file(not_a_file) ? it->file_size(not_a_file) : 0;
    bytes += not_a_file ? 0 : size;
  }
  return bytes;
}

/// Path of the first video of a camera that exists.
std::optional<std::string> first_video(const DatasetOverview& overview, const std::string& camera) {
  for (const data::EpisodeRecord& record : overview.episodes) {
    const auto video = record.videos.find(camera);
    std::error_code code;
    if (video != record.videos.end() && fs::is_regular_file(overview.info.root + "/" + video->second.file, code)) {
      return overview.info.root + "/" + video->second.file;
    }
  }
  return std::nullopt;
}

void find_cameras(DatasetOverview& overview) {
  for (const data::FeatureInfo& feature : overview.info.features) {
    if (!feature.is_camera() || feature.is_depth) {
      continue;
    }
    const auto path = feature.dtype == "video" ? first_video(overview, feature.recorded_name) : std::nullopt;
    if (feature.dtype == "video" && !path) {
      overview.findings.push_back(data::camera_without_files(overview.info, feature, overview.episodes));
      continue;
    }
    overview.cameras.push_back({feature.name, std::nullopt});
    if (path) {
      data::attempt("video_unreadable", overview.info.root, &overview.findings,
                    [&] { overview.cameras.back().video = media::probe_video(*path); });
    }
  }
}

}  // namespace

std::map<std::string, int64_t> DatasetOverview::task_counts() const {
  std::map<std::string, int64_t> counts;
  for (const data::EpisodeRecord& record : episodes) {
    for (const std::string& task : record.tasks) {
      ++counts[task];
    }
  }
  return counts;
}

DatasetOverview read_overview(const std::string& root) {
  DatasetOverview overview;
  overview.info = data::read_dataset_info(root, overview.findings);
  data::add_index_features(overview.info);
  const auto num_tasks = static_cast<int64_t>(data::read_tasks(overview.info, overview.findings).size());
  overview.episodes = data::read_episode_records(overview.info, overview.findings);
  data::check_totals(overview.info, overview.episodes, num_tasks, std::nullopt, overview.findings);
  for (const data::EpisodeRecord& record : overview.episodes) {
    overview.frames += std::max<int64_t>(0, record.length);
  }
  find_cameras(overview);
  data::attempt("stats_unreadable", root, &overview.findings,
                [&] { overview.stats = data::read_stored_stats(overview.info, overview.findings); });
  overview.bytes = folder_bytes(root);
  return overview;
}

}  // namespace flexor::curate
