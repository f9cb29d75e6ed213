#include "curate/picture_scan.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "base/interrupt.h"
#include "base/progress.h"

namespace flexor::curate {
namespace {

std::vector<int64_t> frames_of(int64_t length, PictureSampling sampling) {
  if (sampling == PictureSampling::kSampled) {
    return sampled_frames(length);
  }
  std::vector<int64_t> frames(static_cast<size_t>(length));
  std::iota(frames.begin(), frames.end(), 0);
  return frames;
}

/// One decoder a thread, kept open from job to job.
class Decoders {
 public:
  std::unique_ptr<data::PictureSource> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      constexpr size_t kOpenFiles = 8;
      return std::make_unique<data::PictureSource>(kOpenFiles);
    }
    auto source = std::move(free_.back());
    free_.pop_back();
    return source;
  }
  void give_back(std::unique_ptr<data::PictureSource> source) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(source));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<data::PictureSource>> free_;
};

/// An episode whose pictures are being counted.
struct Open {
  size_t episode;
  std::vector<int64_t> frames;
  std::vector<PictureHistogram> cameras;
};

/// Some of the frames of one camera in one episode; what a thread decodes at a time.
struct PictureJob {
  size_t open, camera, first, last;
};

std::vector<PictureJob> jobs_of(const std::vector<Open>& episodes) {
  constexpr size_t kFrames = 128;
  std::vector<PictureJob> jobs;
  for (size_t i = 0; i < episodes.size(); ++i) {
    const size_t n = episodes[i].frames.size();
    for (size_t camera = 0; camera < episodes[i].cameras.size(); ++camera) {
      for (size_t first = 0; first < n; first += kFrames) {
        jobs.push_back({i, camera, first, std::min(first + kFrames, n)});
      }
    }
  }
  return jobs;
}

int64_t total_pictures(const StatsSource& source, size_t num_cameras, PictureSampling sampling) {
  int64_t frames = 0;
  for (const auto& rows : source.rows) {
    frames +=
        sampling == PictureSampling::kSampled ? static_cast<int64_t>(sampled_frames(rows.count).size()) : rows.count;
  }
  return frames * static_cast<int64_t>(num_cameras);
}

}  // namespace

void for_each_picture_histogram(const StatsSource& source, const std::vector<const data::FeatureInfo*>& cameras,
                                PictureSampling sampling, ThreadPool& pool,
                                const std::function<void(size_t, size_t, const PictureHistogram&)>& body) {
  constexpr size_t kImageCacheBytes = size_t{96} << 20;
  constexpr size_t kEpisodesAtOnce = 64;
  data::ImageStore images(source.info.root, kImageCacheBytes);
  Decoders decoders;
  std::mutex mutex;
  Progress progress("counting pictures", total_pictures(source, cameras.size(), sampling), "pictures");
  for (size_t first = 0; first < source.num_episodes(); first += kEpisodesAtOnce) {
    std::vector<Open> episodes;
    for (size_t i = first; i < std::min(first + kEpisodesAtOnce, source.num_episodes()); ++i) {
      if (source.rows[i].count > 0) {
        episodes.push_back(
            {i, frames_of(source.rows[i].count, sampling), std::vector<PictureHistogram>(cameras.size())});
      }
    }
    const std::vector<PictureJob> jobs = jobs_of(episodes);
    pool.parallel_for(static_cast<int64_t>(jobs.size()), [&](int64_t i) {
      check_interrupt();
      const PictureJob& job = jobs[static_cast<size_t>(i)];
      Open& open = episodes[job.open];
      const auto frames = std::span<const int64_t>(open.frames).subspan(job.first, job.last - job.first);
      auto decoder = decoders.take();
      const PictureHistogram histogram = count_pictures(
          *decoder, images, source.camera_episode(*cameras[job.camera], open.episode), frames, /*thin=*/false);
      decoders.give_back(std::move(decoder));
      progress.advance(static_cast<int64_t>(frames.size()));
      const std::lock_guard lock(mutex);
      open.cameras[job.camera].add(histogram);
    });
    for (const Open& open : episodes) {
      for (size_t camera = 0; camera < cameras.size(); ++camera) {
        body(camera, open.episode, open.cameras[camera]);
      }
    }
  }
}

}  // namespace flexor::curate
