#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/column.h"
#include "data/dataset_info.h"
#include "data/episode.h"
#include "data/finding.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// Distance in seconds that a timestamp may have from frame_index / fps, and a picture from the time asked for.
inline constexpr double kToleranceS = 1e-4;

struct DatasetOptions {
  std::string root;                               ///< folder that holds meta/info.json
  std::optional<std::vector<int64_t>> episodes;   ///< episode_index of those to read; all without
  std::map<std::string, std::string> rename_map;  ///< recorded name -> name, applied before anything else
  /// Numeric features to hold in memory besides `action`, `observation.state` and the index columns (names after the
  /// rename map); {"*"} = every numeric feature.
  std::vector<std::string> columns;
};

/// Where the picture of one camera at one frame comes from: a frame of a video, or an encoded image.
struct PictureRef {
  const std::string* video_path = nullptr;   ///< lives as long as the dataset; null for an encoded image
  double query_s = 0;                        ///< presentation time inside the video
  int64_t frame_number = 0;                  ///< round half even (query_s * fps), in presentation order within the file
  double tolerance_s = kToleranceS;          ///< allowed distance between query_s and the frame's presentation time
  std::shared_ptr<const std::string> image;  ///< PNG or JPEG file content; null for a video
};

class FrameCache;

/// Which decoded pictures may be read from disk.
struct FrameCacheRequest {
  std::string where = "auto";  ///< "auto", "off", or the path of a frame cache or of a folder with some
  int64_t height = 0, width = 0;
};

/// A LeRobot dataset (v2.0, v2.1, v3.0) as its format stores it, with low-dimensional columns in memory.
/// A frame is named by its position 0..num_frames()-1 among the selected episodes, in ascending episode order.
/// A cheap value: copies and selections share the columns. Const members may be called from several threads at once.
class Dataset {
 public:
  /// Reads metadata and columns; never goes online. Oddities that do not stop the reading are in findings().
  /// @throws Error(kFile) missing file or Git-LFS pointer; Error(kData) unreadable or contradictory content;
  ///         Error(kConfig) for an unknown name in rename_map or an unknown episode
  static Dataset open(const DatasetOptions& options);

  /// The same dataset restricted to some of its episodes (episode_index). @throws Error(kConfig) for an unknown one
  Dataset select(const std::vector<int64_t>& episodes) const;

  const DatasetInfo& info() const;
  const std::string& root() const { return info().root; }
  double fps() const { return info().fps.value(); }
  const std::vector<Finding>& findings() const;
  const schema::NormStats& stats() const;  ///< as stored, names after the rename map; empty when the dataset has none
  /// Cameras that have pictures, in info.json's order (depth cameras excluded).
  const std::vector<FeatureInfo>& cameras() const;
  /// A non-camera feature. @throws Error(kData) naming the features that exist (hint: rename_map)
  const FeatureInfo& feature(std::string_view name) const;
  bool has_column(std::string_view name) const;  ///< held in memory

  bool is_whole() const;  ///< all episodes of the dataset are selected

  int64_t num_frames() const { return num_frames_; }
  int64_t num_episodes() const { return static_cast<int64_t>(episodes_.size()); }
  /// Selected episodes in ascending order; number 0..num_episodes()-1.
  const Episode& episode(int64_t number) const;
  int64_t first_position(int64_t number) const { return starts_[static_cast<size_t>(number)]; }
  int64_t episode_number(int64_t position) const;  ///< 0..num_episodes()-1 of the episode that holds `position`

  struct FrameId {
    int64_t episode_index, frame_index;
  };
  FrameId frame_id(int64_t position) const;
  const std::string& task(int64_t position) const;  ///< task text of this very frame
  double timestamp(int64_t position) const;         ///< as recorded, seconds
  int64_t width(std::string_view column) const;     ///< values a frame

  /// Values of `column` at position + offsets[j], row-major into out [offsets, width]; beyond the episode's ends the
  /// first or last frame repeats and is_pad[j] is true. `is_pad` may be empty.
  void read_window(std::string_view column, int64_t position, std::span<const int64_t> offsets, std::span<float> out,
                   std::span<bool> is_pad = {}) const;
  double value(std::string_view column, int64_t position, int64_t dim = 0) const;  ///< unrounded
  /// A whole column in memory (of all episodes that were opened), and the row in it where an episode begins.
  const Column& column(std::string_view name) const;
  int64_t first_row(int64_t number) const;
  /// Timestamp of an episode's first frame; subtracted before a picture is looked up. 0 where frames start at time 0.
  double start_time(int64_t number) const;
  const std::unordered_map<int64_t, std::string>& tasks() const;  ///< task_index -> text

  /// @param camera  index into cameras()
  /// @throws Error(kFile), Error(kData) when an image stored in Parquet cannot be read
  PictureRef picture(int64_t camera, int64_t position) const;

  /// The fresh frame cache to read pictures from, looked for once; null without one (see frame_cache_find.h).
  /// @throws Error(kFile), Error(kData) if a path was given that holds none
  std::shared_ptr<const FrameCache> frame_cache(const FrameCacheRequest& request) const;

 private:
  struct Store;
  friend class DatasetBuilder;
  Dataset(std::shared_ptr<const Store> store, std::vector<int64_t> episodes);

  std::shared_ptr<const Store> store_;
  std::vector<int64_t> episodes_;  ///< numbers into the store's episodes
  std::vector<int64_t> starts_;    ///< first position of each, and the total at the end
  int64_t num_frames_ = 0;
};

}  // namespace flexor::data
