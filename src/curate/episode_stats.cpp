#include "curate/episode_stats.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/dimension_stats.h"

namespace flexor::curate {
namespace {

/// floor(length^0.75) without rounding at whole numbers.
int64_t three_quarters_power(int64_t length) {
  return static_cast<int64_t>(std::pow(static_cast<double>(length), 0.75));
}

std::string camera_place(const CameraEpisode& camera, int64_t frame) {
  return str_cat(camera.video_path.empty() ? camera.data_file : camera.video_path, ", camera ", camera.column,
                 ", episode ", camera.episode_index, ", frame ", frame);
}

const media::Picture& read_picture(data::PictureSource& source, data::ImageStore& images, const CameraEpisode& camera,
                                   int64_t frame) {
  data::PictureRef ref;
  if (camera.video_path.empty()) {
    ref.image = images.get(camera.data_file, camera.column, camera.first_row + frame);
  } else {
    ref.video_path = &camera.video_path;
    ref.query_s = camera.from_s + static_cast<double>(frame) / camera.fps;
    ref.frame_number = static_cast<int64_t>(std::nearbyint(ref.query_s * camera.fps));
  }
  return source.read(ref);
}

}  // namespace

schema::FeatureStats numeric_episode_stats(const NumericValues& values, int64_t width, int64_t first_row, int64_t count,
                                           const EpisodePlace& place) {
  const std::string where = str_cat(place.file, ", episode ", place.episode_index);
  if (count <= 0) {
    throw Error(ErrorKind::kData, str_cat("no frames to compute the statistics of ", place.feature, " from"), where);
  }
  std::vector<data::DimensionStats> dims;
  std::visit(
      [&](const auto& all) {
        for (int64_t d = 0; d < width; ++d) {
          std::vector<double> column(static_cast<size_t>(count));
          for (int64_t i = 0; i < count; ++i) {
            column[static_cast<size_t>(i)] = static_cast<double>(all[static_cast<size_t>((first_row + i) * width + d)]);
            if (!std::isfinite(column[static_cast<size_t>(i)])) {
              throw Error(ErrorKind::kData,
                          str_cat(place.feature, " holds ", column[static_cast<size_t>(i)], " in dimension ", d),
                          str_cat(where, ", frame ", i), "repair the recording, or leave the episode out");
            }
          }
          dims.push_back(data::dimension_stats(std::move(column)));
        }
      },
      values);
  return data::to_feature_stats(dims, count);
}

std::vector<int64_t> sampled_frames(int64_t length) {
  constexpr int64_t kMin = 100, kMax = 10000;
  const int64_t n = std::max(std::min(kMin, length), std::min(three_quarters_power(length), kMax));
  std::vector<int64_t> frames(static_cast<size_t>(n));
  const double step = n > 1 ? static_cast<double>(length - 1) / static_cast<double>(n - 1) : 0.0;
  for (int64_t i = 0; i < n; ++i) {  // half to even; the last one exactly
    frames[static_cast<size_t>(i)] =
        i + 1 == n && n > 1 ? length - 1 : static_cast<int64_t>(std::nearbyint(static_cast<double>(i) * step));
  }
  return frames;
}

PictureHistogram count_pictures(data::PictureSource& source, data::ImageStore& images, const CameraEpisode& episode,
                                std::span<const int64_t> frames, bool thin) {
  PictureHistogram histogram;
  for (const int64_t frame : frames) {
    try {
      const media::Picture& picture = read_picture(source, images, episode, frame);
      histogram.add(picture, thin ? picture_stride(picture.width, picture.height) : 1);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) {
        throw;
      }
      throw Error(error.kind(), error.what(), camera_place(episode, frame),
                  error.hint().empty() ? "flexor dataset verify shows what else is wrong" : error.hint());
    }
  }
  return histogram;
}

schema::FeatureStats camera_episode_stats(data::PictureSource& source, data::ImageStore& images,
                                          const CameraEpisode& episode) {
  if (episode.length <= 0) {
    throw Error(ErrorKind::kData, str_cat("no frames to compute the statistics of ", episode.column, " from"),
                camera_place(episode, 0));
  }
  return count_pictures(source, images, episode, sampled_frames(episode.length), /*thin=*/true).stats();
}

schema::FeatureStats without_quantiles(schema::FeatureStats stats) {
  for (const auto& [name, q] : data::kQuantiles) {
    stats.values.erase(std::string(name));
  }
  return stats;
}

}  // namespace flexor::curate
