#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "curate/picture_histogram.h"
#include "data/column.h"
#include "data/image_store.h"
#include "data/picture_source.h"
#include "schema/norm_stats.h"

// Statistics of one episode, as LeRobot keeps them beside each episode: v2.1 in meta/episodes_stats.jsonl, v3.0 in the
// columns stats/<feature>/<stat> of meta/episodes. Statistics of a whole dataset: data::aggregate_stats() of its
// episodes (data/dataset_stats.h), which is what converting and merging do, or curate/stats.h, which reads every value.
namespace flexor::curate {

/// Values of a numeric column, row-major: what data::Column and table::NumericColumn hold.
using NumericValues = decltype(data::Column::values);

/// Where a message about an episode's values points.
struct EpisodePlace {
  std::string feature;
  std::string file;  ///< the data file
  int64_t episode_index = 0;
};

/// min, max, mean, std (of the population), count and q01, q10, q50, q90, q99 of rows [first_row, first_row + count):
/// exact, sums in float64, quantiles by linear interpolation between order statistics.
/// @param width  values a row
/// @throws Error(kData) for NaN or infinity, naming feature, file, episode, frame and dimension; for count <= 0
schema::FeatureStats numeric_episode_stats(const NumericValues& values, int64_t width, int64_t first_row, int64_t count,
                                           const EpisodePlace& place);

/// Frames of an episode of `length` frames that LeRobot takes the picture statistics from, ascending: n evenly spread
/// ones with n = max(min(100, length), min(floor(length^0.75), 10000)).
std::vector<int64_t> sampled_frames(int64_t length);

/// One camera in one episode: a part of a video, or rows of an image column.
struct CameraEpisode {
  std::string video_path;  ///< empty for an image column
  double from_s = 0;       ///< presentation time of the episode's first frame
  double fps = 0;

  std::string data_file;      ///< absolute; of an image column
  std::string column;         ///< recorded name of the camera
  int64_t first_row = 0;      ///< of the episode in data_file
  int64_t length = 0;         ///< frames of the episode
  int64_t episode_index = 0;  ///< for messages
};

/// Counts the colours of some frames (0..length-1, ascending) of one camera in one episode.
/// @param thin  drop rows and columns as LeRobot's recorder does (see picture_stride)
/// @throws Error(kFile), Error(kData) naming file, episode, frame and camera
PictureHistogram count_pictures(data::PictureSource& source, data::ImageStore& images, const CameraEpisode& episode,
                                std::span<const int64_t> frames, bool thin);

/// Picture statistics as the recorder makes them: of sampled_frames(), thinned; values 0..1, shape [3, 1, 1], `count`
/// is the number of frames looked at. Only the sampling is approximate.
/// `source` and `images` belong to one thread each (ImageStore may be shared). @throws as count_pictures()
schema::FeatureStats camera_episode_stats(data::PictureSource& source, data::ImageStore& images,
                                          const CameraEpisode& episode);

/// The statistics that v2.1 keeps: without quantiles.
schema::FeatureStats without_quantiles(schema::FeatureStats stats);

}  // namespace flexor::curate
