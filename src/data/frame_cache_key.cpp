#include "data/frame_cache_key.h"

#include <cerrno>
#include <map>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/file_errors.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::data {
namespace {

std::string below_root(const std::string& path, const std::string& root) {
  size_t begin = path.starts_with(root) ? root.size() : 0;
  while (begin > 0 && begin < path.size() && path[begin] == '/') {
    ++begin;
  }
  return path.substr(begin);
}

/// Size and time of a file, links followed; no hash.
FrameCacheHeader::Source look_at(const std::string& root, const std::string& path) {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  struct stat info{};
  const std::string full = str_cat(root, "/", path);
  if (::stat(full.c_str(), &info) != 0) {
    throw_file_error("cannot look at the file", full, errno);
  }
  return {path, static_cast<int64_t>(info.st_size),
          static_cast<int64_t>(info.st_mtim.tv_sec) * kNanoseconds + info.st_mtim.tv_nsec, 0};
}

/// Which rows of the table, at which times.
uint64_t times_hash(const Dataset& dataset, const Column& timestamps, int64_t number) {
  ContentHash hash;
  std::vector<double> times(static_cast<size_t>(dataset.episode(number).length));
  for (size_t i = 0; i < times.size(); ++i) {
    times[i] = timestamps.at(dataset.first_row(number) + static_cast<int64_t>(i));
  }
  const double start[] = {dataset.start_time(number)};
  hash.add_values(std::span<const double>(start));
  hash.add_values(std::span<const double>(times));
  return hash.value();
}

/// The pictures of one camera: in a video those at the times from `from_s` on, else those in the rows of the table.
uint64_t frames_hash(const Episode& episode, const VideoSegment& video, uint64_t times) {
  ContentHash hash;
  if (video.path.empty()) {
    const int64_t rows[] = {episode.first_row, episode.length};
    hash.add_values(std::span<const int64_t>(rows));
    return hash.value();
  }
  const double from[] = {video.from_s};
  const uint64_t at[] = {times};
  hash.add_values(std::span<const double>(from));
  hash.add_values(std::span<const uint64_t>(at));
  return hash.value();
}

const std::string& source_path(const Episode& episode, const VideoSegment& video) {
  return video.path.empty() ? episode.data_file : video.path;
}

/// Compares the files that were used, by contents where their times differ.
std::optional<std::string> why_sources_differ(const FrameCache& cache, const std::string& root,
                                              const std::vector<bool>& used) {
  std::vector<std::pair<size_t, int64_t>> new_times;
  for (size_t i = 0; i < used.size(); ++i) {
    const FrameCacheHeader::Source& known = cache.header().sources[i];
    if (!used[i]) {
      continue;
    }
    const FrameCacheHeader::Source now = look_at(root, known.path);
    if (now.size != known.size) {
      return str_cat(known.path, " has ", now.size, " bytes, had ", known.size);
    }
    if (now.mtime_ns != known.mtime_ns) {
      new_times.emplace_back(i, now.mtime_ns);
    }
  }
  if (!new_times.empty()) {
    log_info("comparing the contents of files whose times changed",
             {{"files", new_times.size()}, {"cache", cache.path()}});
  }
  for (const auto& [i, mtime_ns] : new_times) {
    const FrameCacheHeader::Source& known = cache.header().sources[i];
    if (hash_file(str_cat(root, "/", known.path)) != known.hash) {
      return str_cat(known.path, " has another content");
    }
  }
  cache.store_times(new_times);
  return std::nullopt;
}

}  // namespace

FrameCacheHeader describe_frames(const Dataset& dataset) {
  FrameCacheHeader header;
  header.dataset = dataset.root();
  for (const FeatureInfo& camera : dataset.cameras()) {
    header.cameras.push_back(camera.recorded_name);
  }
  const Column& timestamps = dataset.column("timestamp");
  std::map<std::string, int64_t> known;
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    const Episode& episode = dataset.episode(number);
    FrameCacheHeader::Episode entry{episode.episode_index, episode.length, header.num_frames, {}, {}};
    const uint64_t times = times_hash(dataset, timestamps, number);
    for (const VideoSegment& video : episode.videos) {
      const std::string path = below_root(source_path(episode, video), dataset.root());
      const auto [place, is_new] = known.emplace(path, static_cast<int64_t>(header.sources.size()));
      if (is_new) {
        header.sources.push_back(look_at(dataset.root(), path));
      }
      entry.sources.push_back(place->second);
      entry.frames_hash.push_back(frames_hash(episode, video, times));
    }
    header.num_frames += episode.length;
    header.episodes.push_back(std::move(entry));
  }
  return header;
}

std::optional<std::string> why_stale(const FrameCache& cache, const Dataset& dataset) {
  std::vector<int64_t> cameras;
  for (const FeatureInfo& camera : dataset.cameras()) {
    cameras.push_back(cache.camera_index(camera.recorded_name));
    if (cameras.back() < 0) {
      return str_cat("camera ", camera.recorded_name, " is not in it, only ", join_text(cache.header().cameras, ", "));
    }
  }
  const Column& timestamps = dataset.column("timestamp");
  std::vector<bool> used(cache.header().sources.size());
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    const Episode& episode = dataset.episode(number);
    const FrameCacheHeader::Episode* entry = cache.find(episode.episode_index);
    if (entry == nullptr || entry->length != episode.length) {
      return entry == nullptr
                 ? str_cat("episode ", episode.episode_index, " is not in it")
                 : str_cat("episode ", episode.episode_index, " has ", episode.length, " frames, had ", entry->length);
    }
    const uint64_t times = times_hash(dataset, timestamps, number);
    for (size_t i = 0; i < cameras.size(); ++i) {
      const auto own = static_cast<size_t>(cameras[i]);
      const VideoSegment& video = episode.videos[i];
      const auto source = static_cast<size_t>(entry->sources[own]);
      const std::string path = below_root(source_path(episode, video), dataset.root());
      if (cache.header().sources[source].path != path) {
        return str_cat("episode ", episode.episode_index, " comes from ", path, ", came from ",
                       cache.header().sources[source].path);
      }
      if (entry->frames_hash[own] != frames_hash(episode, video, times)) {
        return str_cat("timestamps or place in the file changed, episode ", episode.episode_index, ", camera ",
                       dataset.cameras()[i].recorded_name);
      }
      used[source] = true;
    }
  }
  return why_sources_differ(cache, dataset.root(), used);
}

}  // namespace flexor::data
