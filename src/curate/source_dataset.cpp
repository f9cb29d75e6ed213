#include "curate/source_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file_probe.h"
#include "base/str_cat.h"
#include "curate/episode_extras.h"
#include "data/camera_files.h"
#include "data/column_loader.h"
#include "data/dataset_tasks.h"
#include "data/episode_records.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;
using data::EpisodeRecord;

class Opener {
 public:
  Opener(const std::string& root, const std::set<int64_t>& left_out) : left_out_(left_out) {
    source_.info = data::read_dataset_info(root, source_.findings);
  }

  SourceDataset run() {
    const data::TaskTable tasks = data::read_tasks(source_.info, source_.findings);
    source_.tasks.assign(tasks.begin(), tasks.end());
    std::sort(source_.tasks.begin(), source_.tasks.end());
    records_ = data::read_episode_records(source_.info, source_.findings);
    for (const data::FeatureInfo& feature : source_.info.features) {
      if (feature.dtype == "video") {
        add_camera(feature);
      }
    }
    add_episodes();
    refuse_errors();
    return std::move(source_);
  }

 private:
  const std::string& root() const { return source_.info.root; }

  void refuse_errors() const {
    if (data::has_errors(source_.findings)) {
      data::report_findings(source_.findings, root());
    }
  }

  bool exists(const std::string& file) {
    const auto [known, is_new] = exists_.try_emplace(file, false);
    if (is_new) {
      known->second = is_regular_file(root() + "/" + file);
    }
    return known->second;
  }

  void add_camera(const data::FeatureInfo& camera) {
    const EpisodeRecord* first = nullptr;
    size_t missing = 0, wanted = 0;
    for (const EpisodeRecord& record : records_) {
      if (left_out_.contains(record.episode_index)) {
        continue;
      }
      ++wanted;
      const auto video = record.videos.find(camera.recorded_name);
      if (video == record.videos.end() || !exists(video->second.file)) {
        first = first ? first : &record;
        ++missing;
      }
    }
    if (missing == 0) {
      source_.cameras.push_back(camera);
    } else if (missing == wanted) {
      source_.absent_cameras.push_back(camera.recorded_name);
      source_.findings.push_back(data::camera_without_files(source_.info, camera, records_));
    } else {
      const auto video = first->videos.find(camera.recorded_name);
      throw Error(ErrorKind::kFile,
                  str_cat("no video of camera ", camera.recorded_name, " for ", missing, " of ", wanted,
                          " episodes; the first is episode ", first->episode_index),
                  root() + "/" + (video == first->videos.end() ? first->place : video->second.file),
                  "copy the file, or take the camera out of meta/info.json");
    }
  }

  SourceVideo video_of(const EpisodeRecord& record, const data::FeatureInfo& camera) const {
    const EpisodeRecord::Video& video = record.videos.find(camera.recorded_name)->second;
    SourceVideo source{root() + "/" + video.file};
    if (source_.info.major == 3) {
      const double fps = source_.info.fps.value();
      source.first_frame = static_cast<int64_t>(std::nearbyint(video.from_s * fps));
      source.num_frames = video.to_s > video.from_s
                              ? static_cast<int64_t>(std::nearbyint(video.to_s * fps)) - source.first_frame
                              : record.length;
      check_frames(record, camera, source);
    }
    return source;
  }

  void check_frames(const EpisodeRecord& record, const data::FeatureInfo& camera, const SourceVideo& video) const {
    if (video.num_frames < record.length) {
      throw Error(ErrorKind::kData,
                  str_cat("camera ", camera.recorded_name, " has ", video.num_frames,
                          " frames by its from_timestamp and "
                          "to_timestamp, the episode ",
                          record.length),
                  str_cat(root(), "/", record.place, ", episode ", record.episode_index),
                  "correct the metadata, or record the episode again");
    }
  }

  void add_episodes() {
    std::vector<const EpisodeRecord*> selected;
    selected.reserve(records_.size());
    for (const EpisodeRecord& record : records_) {
      if (!left_out_.contains(record.episode_index)) {
        selected.push_back(&record);
      }
    }
    const auto rows = data::load_columns(source_.info, selected, {}, source_.findings).episodes;
    std::vector<Json> extras = read_episode_extras(source_.info, records_);
    source_.episodes.reserve(records_.size());
    int64_t first_index = 0;
    for (size_t i = 0, row = 0; i < records_.size(); ++i) {
      EpisodeRecord& record = records_[i];
      const bool is_left_out = left_out_.contains(record.episode_index);
      SourceEpisode episode{.episode_index = record.episode_index,
                            .length = record.length,
                            .first_index = first_index,
                            .tasks = std::move(record.tasks),
                            .extra = std::move(extras[i]),
                            .data_file = is_left_out ? "" : rows[row].data_file,
                            .first_row = is_left_out ? 0 : rows[row].first_row,
                            .videos = {}};
      for (size_t i_camera = 0; i_camera < source_.cameras.size() && !is_left_out; ++i_camera) {
        episode.videos.push_back(video_of(record, source_.cameras[i_camera]));
      }
      row += is_left_out ? 0 : 1;
      first_index += episode.length;
      source_.episodes.push_back(std::move(episode));
    }
  }

  const std::set<int64_t>& left_out_;
  SourceDataset source_;
  std::vector<EpisodeRecord> records_;
  std::map<std::string, bool> exists_;
};

}  // namespace

int64_t SourceDataset::num_frames() const {
  int64_t frames = 0;
  for (const SourceEpisode& episode : episodes) {
    frames += episode.length;
  }
  return frames;
}

int64_t SourceDataset::camera_number(std::string_view name) const {
  const auto found =
      std::find_if(cameras.begin(), cameras.end(), [&](const auto& c) { return c.recorded_name == name; });
  return found == cameras.end() ? -1 : found - cameras.begin();
}

SourceDataset open_source(const std::string& root, const std::set<int64_t>& left_out) {
  return Opener(root, left_out).run();
}

}  // namespace flexor::curate
