#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/finding.h"

namespace flexor::data {

/// Frames per second as an exact fraction: 30 is 30/1, 29.97 is 2997/100.
struct FrameRate {
  int64_t num = 0, den = 1;
  double value() const { return static_cast<double>(num) / static_cast<double>(den); }
  friend bool operator==(const FrameRate&, const FrameRate&) = default;
};
/// The fraction of the shortest decimal text of `fps`. @throws Error(kData) unless 0 < fps < 1e6
FrameRate frame_rate_from_double(double fps, const std::string& where);

/// A column or a camera, as meta/info.json describes it.
struct FeatureInfo {
  std::string name;           ///< after the rename map
  std::string recorded_name;  ///< in the files
  std::string dtype;          ///< "float32", "int64", "bool", "string", "image", "video", ...
  std::vector<int64_t> shape;
  std::vector<std::string> names;  ///< one per dimension of a vector, flattened; empty when not given
  bool is_depth = false;
  Json info;  ///< `info` or `video_info` of a video, else null

  bool is_camera() const { return dtype == "image" || dtype == "video"; }
  bool is_numeric() const;  ///< bool, integers and floats
  int64_t size() const;     ///< values a frame: product of `shape`
};

/// meta/info.json of LeRobot v2.0, v2.1 and v3.0.
struct DatasetInfo {
  std::string root;
  std::string version;  ///< "v2.0", "v2.1", "v3.0"
  int major = 0, minor = 0;
  FrameRate fps;
  std::string robot_type;  ///< empty for null
  int64_t total_episodes = 0, total_frames = 0, total_tasks = 0;
  int64_t chunks_size = 1000;         ///< v2.x: episodes a chunk folder; v3.0: files a chunk folder
  std::string data_path, video_path;  ///< templates; video_path is empty for null
  std::vector<FeatureInfo> features;  ///< in file order
  Json json;                          ///< the whole object as read

  const FeatureInfo* find(std::string_view name) const;
  std::string info_path;  ///< where it was read
};

/// @param findings  gets what is odd (info.json beside meta/, a float fps, a newer minor version)
/// @throws Error(kFile) if there is no dataset, Error(kData) for a broken description, both naming the file
DatasetInfo read_dataset_info(const std::string& root, std::vector<Finding>& findings);

/// The index columns exist in every dataset, whether info.json lists them or not: adds those that it does not.
void add_index_features(DatasetInfo& info);

}  // namespace flexor::data
