#include "data/dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset_store.h"

namespace flexor::data {
namespace {

template <typename Map>
std::string keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& entry : map) {
    keys.push_back(entry.first);
  }
  return join_text(keys, ", ");
}

/// What a user may have meant by a feature that is not there.
std::string rename_hint(const DatasetInfo& info, std::string_view name) {
  for (const FeatureInfo& feature : info.features) {
    const bool plural = feature.name == str_cat(name, "s");
    const bool tail = name.size() > feature.name.size() && name.ends_with("." + feature.name);
    if (plural || tail) {
      return str_cat("rename_map: {", feature.recorded_name, ": ", name, "}");
    }
  }
  return str_cat("rename_map: {NAME IN THE DATASET: ", name, "}");
}

}  // namespace

const Column& Dataset::Store::column(std::string_view name) const {
  const auto found = columns.find(name);
  if (found == columns.end()) {
    throw Error(ErrorKind::kData, str_cat("no column ", name, " in memory; there are ", keys_of(columns)), info.root,
                info.find(name) ? "" : rename_hint(info, name));
  }
  return found->second;
}

Dataset::Dataset(std::shared_ptr<const Store> store, std::vector<int64_t> episodes)
    : store_(std::move(store)), episodes_(std::move(episodes)) {
  for (const int64_t number : episodes_) {
    starts_.push_back(num_frames_);
    num_frames_ += store_->episodes[static_cast<size_t>(number)].length;
  }
  starts_.push_back(num_frames_);
}

Dataset Dataset::select(const std::vector<int64_t>& episodes) const {
  std::map<int64_t, int64_t> numbers;
  for (const int64_t number : episodes_) {
    numbers[store_->episodes[static_cast<size_t>(number)].episode_index] = number;
  }
  std::set<int64_t> selected;
  for (const int64_t episode : episodes) {
    const auto found = numbers.find(episode);
    if (found == numbers.end()) {
      throw Error(
          ErrorKind::kConfig,
          str_cat("no episode ", episode, " among the ", numbers.size(), " of the dataset",
                  numbers.empty() ? "" : str_cat(" (", numbers.begin()->first, " to ", numbers.rbegin()->first, ")")),
          root());
    }
    selected.insert(found->second);
  }
  return Dataset(store_, {selected.begin(), selected.end()});
}

const DatasetInfo& Dataset::info() const {
  return store_->info;
}
const std::vector<Finding>& Dataset::findings() const {
  return store_->findings;
}
const schema::NormStats& Dataset::stats() const {
  return store_->stats;
}
const std::vector<FeatureInfo>& Dataset::cameras() const {
  return store_->cameras;
}
const Column& Dataset::column(std::string_view name) const {
  return store_->column(name);
}
bool Dataset::has_column(std::string_view name) const {
  return store_->columns.find(name) != store_->columns.end();
}
int64_t Dataset::width(std::string_view column) const {
  return store_->column(column).width;
}
const std::unordered_map<int64_t, std::string>& Dataset::tasks() const {
  return store_->tasks;
}

bool Dataset::is_whole() const {
  return num_episodes() == store_->total_episodes;
}

const FeatureInfo& Dataset::feature(std::string_view name) const {
  const FeatureInfo* found = info().find(name);
  if (!found || found->is_camera()) {
    std::vector<std::string> known;
    for (const FeatureInfo& feature : info().features) {
      if (!feature.is_camera()) {
        known.push_back(feature.name);
      }
    }
    throw Error(ErrorKind::kData, str_cat("no feature ", name, "; the dataset has ", join_text(known, ", ")),
                info().info_path, rename_hint(info(), name));
  }
  return *found;
}

const Episode& Dataset::episode(int64_t number) const {
  return store_->episodes[static_cast<size_t>(episodes_[static_cast<size_t>(number)])];
}

int64_t Dataset::first_row(int64_t number) const {
  return store_->first_rows[static_cast<size_t>(episodes_[static_cast<size_t>(number)])];
}

double Dataset::start_time(int64_t number) const {
  return store_->start_times_s[static_cast<size_t>(episodes_[static_cast<size_t>(number)])];
}

int64_t Dataset::episode_number(int64_t position) const {
  if (position < 0 || position >= num_frames_) {
    throw Error(ErrorKind::kRuntime, str_cat("frame ", position, " of ", num_frames_), root());
  }
  return std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
}

Dataset::FrameId Dataset::frame_id(int64_t position) const {
  const int64_t number = episode_number(position);
  return {episode(number).episode_index, position - first_position(number)};
}

const std::string& Dataset::task(int64_t position) const {
  const auto index = static_cast<int64_t>(value("task_index", position));
  const auto found = store_->tasks.find(index);
  if (found == store_->tasks.end()) {
    const FrameId id = frame_id(position);
    throw Error(ErrorKind::kData, str_cat("task_index ", index, " is not among the ", store_->tasks.size(), " tasks"),
                str_cat(root(), ", episode ", id.episode_index, ", frame ", id.frame_index));
  }
  return found->second;
}

double Dataset::timestamp(int64_t position) const {
  return value("timestamp", position);
}

double Dataset::value(std::string_view column, int64_t position, int64_t dim) const {
  const int64_t number = episode_number(position);
  return store_->column(column).at(first_row(number) + position - first_position(number), dim);
}

void Dataset::read_window(std::string_view column, int64_t position, std::span<const int64_t> offsets,
                          std::span<float> out, std::span<bool> is_pad) const {
  const Column& values = store_->column(column);
  const int64_t number = episode_number(position);
  const int64_t frame = position - first_position(number), length = episode(number).length;
  if (static_cast<int64_t>(out.size()) != static_cast<int64_t>(offsets.size()) * values.width ||
      (!is_pad.empty() && is_pad.size() != offsets.size())) {
    throw Error(ErrorKind::kRuntime, str_cat("window of ", offsets.size(), " frames of ", column, " (", values.width,
                                             " values) into room for ", out.size()));
  }
  for (size_t j = 0; j < offsets.size(); ++j) {
    const int64_t wanted = frame + offsets[j];
    const int64_t clamped = std::clamp<int64_t>(wanted, 0, length - 1);
    values.copy_row(first_row(number) + clamped, out.data() + static_cast<int64_t>(j) * values.width);
    if (!is_pad.empty()) {
      is_pad[j] = clamped != wanted;
    }
  }
}

PictureRef Dataset::picture(int64_t camera, int64_t position) const {
  const int64_t number = episode_number(position);
  const int64_t frame = position - first_position(number);
  const Episode& source = episode(number);
  const VideoSegment& video = source.videos[static_cast<size_t>(camera)];
  PictureRef picture;
  if (video.path.empty()) {
    picture.image = store_->images->get(source.data_file, cameras()[static_cast<size_t>(camera)].recorded_name,
                                        source.first_row + frame);
    return picture;
  }
  picture.video_path = &video.path;
  picture.query_s = video.from_s + (timestamp(position) - start_time(number));
  picture.frame_number = static_cast<int64_t>(std::nearbyint(picture.query_s * fps()));  // default mode: half to even
  return picture;
}

std::shared_ptr<const FrameCache> Dataset::frame_cache(const FrameCacheRequest& request) const {
  std::vector<int64_t> all(store_->episodes.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  return store_->frame_caches->get(Dataset(store_, std::move(all)), request);
}

}  // namespace flexor::data
