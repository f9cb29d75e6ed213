#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_probe.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/camera_files.h"
#include "data/column_loader.h"
#include "data/dataset.h"
#include "data/dataset_stats.h"
#include "data/dataset_store.h"
#include "data/episode_records.h"
#include "schema/policy_feature.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kNeededColumns = {"timestamp", "episode_index", "index", "task_index"};

void rename_features(DatasetInfo& info, const std::map<std::string, std::string>& rename_map) {
  for (const auto& [from, to] : rename_map) {
    const auto found = std::find_if(info.features.begin(), info.features.end(),
                                    [&from = from](const FeatureInfo& f) { return f.recorded_name == from; });
    if (found == info.features.end()) {
      std::vector<std::string> known;
      known.reserve(info.features.size());
      for (const FeatureInfo& feature : info.features) {
        known.push_back(feature.recorded_name);
      }
      const std::string near = nearest(from, known);
      throw Error(ErrorKind::kConfig,
                  str_cat("rename_map renames ", from, ", the dataset has ", join_text(known, ", ")), info.info_path,
                  near.empty() ? "write it as {NAME IN THE DATASET: NEW NAME}" : str_cat("did you mean ", near, "?"));
    }
    found->name = to;
  }
  std::map<std::string_view, const FeatureInfo*> by_name;
  for (const FeatureInfo& feature : info.features) {
    const auto [other, is_new] = by_name.emplace(feature.name, &feature);
    if (!is_new) {
      throw Error(ErrorKind::kConfig,
                  str_cat("rename_map gives ", other->second->recorded_name, " and ", feature.recorded_name,
                          " the same name ", feature.name),
                  info.info_path, "give one of the two another name, or leave it out of rename_map");
    }
  }
}

std::vector<const EpisodeRecord*> select_records(const std::vector<EpisodeRecord>& records,
                                                 const DatasetOptions& options) {
  std::vector<const EpisodeRecord*> selected;
  if (!options.episodes) {
    for (const EpisodeRecord& record : records) {
      selected.push_back(&record);
    }
    return selected;
  }
  for (const int64_t episode : std::set<int64_t>(options.episodes->begin(), options.episodes->end())) {
    const auto found = std::lower_bound(records.begin(), records.end(), episode,
                                        [](const EpisodeRecord& r, int64_t e) { return r.episode_index < e; });
    if (found == records.end() || found->episode_index != episode) {
      throw Error(ErrorKind::kConfig,
                  str_cat("no episode ", episode, "; the dataset has ", records.size(), " (",
                          records.front().episode_index, " to ", records.back().episode_index, ")"),
                  options.root, "episodes are named by their episode_index");
    }
    selected.push_back(&*found);
  }
  if (selected.empty()) {
    throw Error(ErrorKind::kConfig, "the list of episodes is empty", "dataset.episodes",
                "list at least one episode_index: [0, 1]; null takes all");
  }
  return selected;
}

/// Numeric features to hold in memory.
std::vector<const FeatureInfo*> wanted_columns(const DatasetInfo& info, const std::vector<std::string>& extra) {
  std::set<std::string_view> names(kNeededColumns.begin(), kNeededColumns.end());
  names.insert({"frame_index", schema::kActionKey, schema::kStateKey});
  const bool all = std::find(extra.begin(), extra.end(), "*") != extra.end();
  for (const std::string& name : extra) {
    const FeatureInfo* feature = info.find(name);
    if (name != "*" && (!feature || !feature->is_numeric())) {
      throw Error(ErrorKind::kData, str_cat("no numeric feature ", name), info.info_path);
    }
    names.insert(name);
  }
  std::vector<const FeatureInfo*> wanted;
  for (const FeatureInfo& feature : info.features) {
    const bool is_annotation = feature.recorded_name.starts_with("annotation.") && feature.size() == 1;
    if (feature.is_numeric() && (all || is_annotation || names.contains(feature.name))) {
      wanted.push_back(&feature);
    }
  }
  return wanted;
}

}  // namespace

/// Opens a dataset step by step; the store is complete when run() returns.
class DatasetBuilder {
 public:
  explicit DatasetBuilder(const DatasetOptions& options) : options_(options), store_(new Dataset::Store) {}

  Dataset run() {
    store_->info = read_dataset_info(options_.root, store_->findings);
    add_index_features(store_->info);
    rename_features(store_->info, options_.rename_map);
    store_->tasks = read_tasks(store_->info, store_->findings);
    records_ = read_episode_records(store_->info, store_->findings);
    store_->total_episodes = static_cast<int64_t>(records_.size());
    selected_ = select_records(records_, options_);
    find_cameras();
    check_totals(store_->info, records_, static_cast<int64_t>(store_->tasks.size()), count_videos(), store_->findings);
    load();
    find_start_times();
    read_stats();
    store_->images = std::make_unique<ImageStore>(options_.root, default_image_cache_bytes());
    std::vector<int64_t> all(store_->episodes.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<int64_t>(i);
    }
    return Dataset(std::shared_ptr<const Dataset::Store>(std::move(store_)), std::move(all));
  }

 private:
  bool file_exists(const std::string& file) {
    const auto [known, is_new] = exists_.try_emplace(file, false);
    if (is_new) {
      const std::string path = options_.root + "/" + file;
      known->second = is_regular_file(path);
      if (known->second && is_lfs_pointer(path)) {
        check_input_file(path);  // throws what a pointer is and how to get the file
      }
    }
    return known->second;
  }

  int64_t count_missing(const std::string& camera, const std::vector<const EpisodeRecord*>& records,
                        const EpisodeRecord** first) {
    int64_t missing = 0;
    for (const EpisodeRecord* record : records) {
      const auto video = record->videos.find(camera);
      if (video == record->videos.end() || !file_exists(video->second.file)) {
        *first = missing == 0 ? record : *first;
        ++missing;
      }
    }
    return missing;
  }

  void find_cameras() {
    std::vector<const EpisodeRecord*> all;
    all.reserve(records_.size());
    for (const EpisodeRecord& record : records_) {
      all.push_back(&record);
    }
    for (const FeatureInfo& feature : store_->info.features) {
      if (!feature.is_camera() || feature.is_depth) {
        continue;
      }
      const EpisodeRecord* first = nullptr;
      const int64_t missing = feature.dtype == "video" ? count_missing(feature.recorded_name, selected_, &first) : 0;
      if (missing == 0) {
        store_->cameras.push_back(feature);
      } else if (count_missing(feature.recorded_name, all, &first) == static_cast<int64_t>(all.size())) {
        store_->findings.push_back(camera_without_files(store_->info, feature, records_));
      } else {
        throw_missing(feature, missing);
      }
    }
  }

  /// Video files of the whole dataset; unknown when only some episodes were looked at.
  std::optional<int64_t> count_videos() const {
    const auto is_there = [](const auto& file) { return file.second; };
    return options_.episodes ? std::nullopt
                             : std::optional<int64_t>(std::count_if(exists_.begin(), exists_.end(), is_there));
  }

  [[noreturn]] void throw_missing(const FeatureInfo& feature, int64_t missing) {
    const EpisodeRecord* first = nullptr;
    count_missing(feature.recorded_name, selected_, &first);
    const auto video = first->videos.find(feature.recorded_name);
    const std::string file = video == first->videos.end() ? first->place : video->second.file;
    throw Error(ErrorKind::kFile,
                str_cat("no video of camera ", feature.recorded_name, " for ", missing, " of ", selected_.size(),
                        " episodes; the first is episode ", first->episode_index),
                options_.root + "/" + file, "copy the file, or leave the episodes out with dataset.episodes");
  }

  void load() {
    const auto wanted = wanted_columns(store_->info, options_.columns);
    LoadedColumns loaded = load_columns(store_->info, selected_, wanted, store_->findings);
    store_->columns = std::move(loaded.columns);
    int64_t row = 0;
    for (size_t i = 0; i < selected_.size(); ++i) {
      const EpisodeRecord& record = *selected_[i];
      Episode episode{record.episode_index,         loaded.episodes[i].count,     record.tasks,
                      loaded.episodes[i].data_file, loaded.episodes[i].first_row, {}};
      for (const FeatureInfo& camera : store_->cameras) {
        const auto video = record.videos.find(camera.recorded_name);
        episode.videos.push_back(
            camera.dtype == "image" || video == record.videos.end()
                ? VideoSegment{}
                : VideoSegment{options_.root + "/" + video->second.file, video->second.from_s, video->second.to_s});
      }
      store_->episodes.push_back(std::move(episode));
      store_->first_rows.push_back(row);
      row += loaded.episodes[i].count;
    }
    if (!store_->columns.contains("frame_index")) {
      store_->findings.push_back(
          {.code = "no_frame_index",
           .severity = Severity::kWarning,
           .file = fs::path(store_->episodes[0].data_file).lexically_relative(options_.root).string(),
           .feature = "frame_index",
           .message = "no column frame_index; the row number in the episode is used"});
    }
  }

  /// Timestamps that start elsewhere than at frame_index / fps by a constant.
  void find_start_times() {
    const Column& timestamps = store_->column("timestamp");
    std::optional<size_t> first;
    for (size_t i = 0; i < store_->episodes.size(); ++i) {
      const bool empty = store_->episodes[i].length == 0;
      const double start = empty ? 0 : timestamps.at(store_->first_rows[i]);
      store_->start_times_s.push_back(std::abs(start) > kToleranceS && std::isfinite(start) ? start : 0);
      first = store_->start_times_s.back() != 0 && !first ? std::optional(i) : first;
    }
    if (first) {
      const auto shifted = std::count_if(store_->start_times_s.begin(), store_->start_times_s.end(),
                                         [](double start) { return start != 0; });
      const Episode& episode = store_->episodes[*first];
      store_->findings.push_back({.code = "timestamp_offset",
                                  .severity = Severity::kWarning,
                                  .file = fs::path(episode.data_file).lexically_relative(options_.root).string(),
                                  .episode = episode.episode_index,
                                  .frame = 0,
                                  .feature = "timestamp",
                                  .expected = "0",
                                  .found = short_number(store_->start_times_s[*first], 9),
                                  .message = str_cat("first timestamp (s), subtracted when pictures are looked up, in ",
                                                     shifted, " episodes")});
    }
  }

  void read_stats() {
    schema::NormStats stored = read_stored_stats(store_->info, store_->findings);
    for (const FeatureInfo& feature : store_->info.features) {
      if (auto found = stored.extract(feature.recorded_name)) {
        found.key() = feature.name;
        store_->stats.insert(std::move(found));
      }
    }
    store_->stats.merge(stored);  // statistics of what is no feature (returns and rewards of RECAP)
  }

  const DatasetOptions& options_;
  std::unique_ptr<Dataset::Store> store_;
  std::vector<EpisodeRecord> records_;
  std::vector<const EpisodeRecord*> selected_;
  std::map<std::string, bool> exists_;
};

Dataset Dataset::open(const DatasetOptions& options) {
  return DatasetBuilder(options).run();
}

}  // namespace flexor::data
