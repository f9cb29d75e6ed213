// What counting pictures for statistics adds to decoding them. One JSON line a case, CPU seconds per 1000 pictures, two
// threads each, the cases in turns:
//   decode   the same frames of the same videos decoded and converted to RGB24
//   count    for_each_picture_histogram(), as `flexor dataset stats` uses it
// once for the sampled frames (--method lerobot), once for every frame (--method lerobot-0.4).
//
//   stats_bench [DATASET [ROUNDS]]     default: the project's small example
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "curate/episode_stats.h"
#include "curate/picture_scan.h"
#include "media/av_handle.h"

namespace {

using namespace flexor;
using curate::PictureSampling;

constexpr int kThreads = 2;

std::vector<int64_t> frames_of(int64_t length, PictureSampling sampling) {
  if (sampling == PictureSampling::kSampled) {
    return curate::sampled_frames(length);
  }
  std::vector<int64_t> frames(static_cast<size_t>(length));
  std::iota(frames.begin(), frames.end(), 0);
  return frames;
}

/// One thread takes the even episodes of every camera, the other the odd ones.
int64_t decode(const curate::StatsSource& source, PictureSampling sampling, ThreadPool& pool) {
  std::vector<int64_t> pictures(kThreads);
  pool.parallel_for(kThreads, [&](int64_t thread) {
    data::PictureSource pictures_of;
    for (const data::FeatureInfo& camera : source.cameras) {
      for (size_t i = static_cast<size_t>(thread); i < source.num_episodes(); i += kThreads) {
        const curate::CameraEpisode episode = source.camera_episode(camera, i);
        for (const int64_t frame : frames_of(episode.length, sampling)) {
          data::PictureRef ref;
          ref.video_path = &episode.video_path;
          ref.query_s = episode.from_s + static_cast<double>(frame) / episode.fps;
          pictures_of.read(ref);
          ++pictures[static_cast<size_t>(thread)];
        }
      }
    }
  });
  return std::accumulate(pictures.begin(), pictures.end(), int64_t{0});
}

int64_t count(const curate::StatsSource& source, PictureSampling sampling, ThreadPool& pool) {
  std::vector<const data::FeatureInfo*> cameras;
  for (const data::FeatureInfo& camera : source.cameras) {
    cameras.push_back(&camera);
  }
  int64_t pictures = 0;
  curate::for_each_picture_histogram(
      source, cameras, sampling, pool,
      [&](size_t, size_t, const curate::PictureHistogram& histogram) { pictures += histogram.num_pictures(); });
  return pictures;
}

void print(const char* name, const std::string& dataset, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf(
      "{\"bench\": \"stats\", \"case\": \"%s\", \"dataset\": \"%s\", \"unit\": \"%s\", \"median\": %.5g, \"min\": "
      "%.5g, "
      "\"max\": %.5g, \"n\": %zu}\n",
      name, dataset.c_str(), std::string(name).find('/') == std::string::npos ? "CPU s per 1000 pictures" : "1",
      values[values.size() / 2], values.front(), values.back(), values.size());
}

template <typename Body>
double cost(const Body& body) {
  const double start = process_cpu_seconds();
  const int64_t pictures = body();
  return (process_cpu_seconds() - start) / static_cast<double>(pictures) * 1000;
}

void measure(const std::string& root, int rounds, PictureSampling sampling, const std::string& name) {
  const curate::StatsSource source = curate::open_stats_source(root);
  ThreadPool pool(kThreads);
  std::vector<double> decoded, counted, ratio;
  for (int round = 0; round < rounds; ++round) {
    pool.submit([&] { decoded.push_back(cost([&] { return decode(source, sampling, pool); })); }).get();
    pool.submit([&] { counted.push_back(cost([&] { return count(source, sampling, pool); })); }).get();
    ratio.push_back(counted.back() / decoded.back());
  }
  print((name + ", decode").c_str(), root, decoded);
  print((name + ", count").c_str(), root, counted);
  print((name + ", count / decode").c_str(), root, ratio);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    media::quiet_av_log();
    const std::string root = argc > 1 ? argv[1] : FLEXOR_BENCH_DATASET;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    measure(root, rounds, PictureSampling::kSampled, "sampled");
    measure(root, rounds, PictureSampling::kEveryFrame, "every frame");
  } catch (const std::exception& exception) {
    std::fputs(format_error(to_error(exception)).c_str(), stderr);
    return 1;
  }
  return 0;
}
