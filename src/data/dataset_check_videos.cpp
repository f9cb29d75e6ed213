#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "data/dataset_check.h"
#include "data/image_check.h"
#include "data/video_check.h"

namespace flexor::data {
namespace {

std::string relative_to(const Dataset& dataset, const std::string& path) {
  return std::filesystem::path(path).lexically_relative(dataset.root()).string();
}

std::vector<VideoNeed> collect_needs(const Dataset& dataset) {
  std::map<std::string, VideoNeed> needs;
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    const Episode& episode = dataset.episode(number);
    for (size_t camera = 0; camera < episode.videos.size(); ++camera) {
      const VideoSegment& segment = episode.videos[camera];
      if (segment.path.empty() || episode.length == 0) {
        continue;
      }
      VideoNeed& need = needs[segment.path];
      need.camera = &dataset.cameras()[camera];
      need.file = relative_to(dataset, segment.path);
      need.uses.push_back({episode.episode_index, episode.length, segment.from_s, segment.to_s});
    }
  }
  std::vector<VideoNeed> result;
  for (auto& need : needs) {
    result.push_back(std::move(need.second));
  }
  return result;
}

/// The first picture of each camera that stores images in Parquet can be decoded.
void check_images(const Dataset& dataset, std::vector<Finding>& findings) {
  for (size_t camera = 0; camera < dataset.cameras().size() && dataset.num_frames() > 0; ++camera) {
    if (dataset.cameras()[camera].dtype != "image") {
      continue;
    }
    const Episode& episode = dataset.episode(dataset.episode_number(0));
    std::optional<Finding> finding;
    try {
      finding = check_image(dataset.cameras()[camera], *dataset.picture(static_cast<int64_t>(camera), 0).image);
    } catch (const Error& error) {
      finding = finding_of(error, "image_unreadable", dataset.root());
    }
    if (finding) {
      finding->file = relative_to(dataset, episode.data_file);
      finding->episode = episode.episode_index;
      finding->frame = 0;
      finding->feature = dataset.cameras()[camera].recorded_name;
      findings.push_back(std::move(*finding));
    }
  }
}

}  // namespace

void check_pictures(const Dataset& dataset, std::vector<Finding>& findings) {
  constexpr int kMaxThreads = 4;
  const std::vector<VideoNeed> needs = collect_needs(dataset);
  std::vector<std::vector<Finding>> found(needs.size());
  const VideoCheckOptions options{.is_whole = dataset.is_whole(), .decode = false};
  Progress progress("checking videos", static_cast<int64_t>(needs.size()), "files");
  ThreadPool pool(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads));
  pool.parallel_for(static_cast<int64_t>(needs.size()), [&](int64_t i) {
    check_interrupt();
    found[static_cast<size_t>(i)] = check_video(dataset.info(), needs[static_cast<size_t>(i)], options);
    progress.advance();
  });
  for (std::vector<Finding>& part : found) {
    std::move(part.begin(), part.end(), std::back_inserter(findings));
  }
  check_images(dataset, findings);
}

}  // namespace flexor::data
