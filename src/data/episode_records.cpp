#include "data/episode_records.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/jsonl.h"
#include "data/path_template.h"
#include "table/parquet_reader.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxTimeS = 1e7;  // a video of four months

/// "meta/episodes.jsonl:3" or "meta/episodes/x.parquet, row 3" -> the file.
std::string file_of_place(const std::string& place) {
  const size_t end = place.starts_with("meta/episodes.jsonl") ? place.rfind(':') : place.rfind(", row ");
  return place.substr(0, end);
}

constexpr int64_t kMaxCount = int64_t{1} << 40;

/// Numbers with which one can calculate without care.
void check_size(const EpisodeRecord& record) {
  if (record.episode_index < 0 || record.episode_index > kMaxCount || record.length > kMaxCount ||
      record.length < -kMaxCount) {
    throw Error(ErrorKind::kData, str_cat("episode_index ", record.episode_index, " of length ", record.length), "",
                "episodes are numbered from 0, their length counts frames");
  }
}

constexpr const char* kLineHint = "correct the line, or copy the file again";

EpisodeRecord record_of_line(const DatasetInfo& info, const JsonLine& line) {
  EpisodeRecord record;
  record.place = str_cat("meta/episodes.jsonl:", line.line);
  const Json *number = line.json.find("episode_index"), *length = line.json.find("length");
  const Json* tasks = line.json.find("tasks");
  if (!number || !number->is_number() || !length || !length->is_number()) {
    throw Error(ErrorKind::kData, "expected numbers under episode_index and length", "", kLineHint);
  }
  record.episode_index = number->as_int();
  record.length = length->as_int();
  check_size(record);
  for (size_t i = 0; tasks && tasks->is_array() && i < tasks->size(); ++i) {
    const Json& task = tasks->as_array()[i];
    if (!task.is_string()) {
      throw Error(ErrorKind::kData, str_cat("tasks is ", tasks->dump(), ", expected a list of texts"), "", kLineHint);
    }
    record.tasks.push_back(task.as_string());
  }
  std::vector<std::pair<std::string_view, TemplateValue>> fields = {
      {"episode_chunk", record.episode_index / info.chunks_size}, {"episode_index", record.episode_index}};
  record.data_file = fill_template(info.data_path, fields, info.info_path);
  for (const FeatureInfo& feature : info.features) {
    if (feature.dtype == "video") {
      auto with_camera = fields;
      with_camera.emplace_back("video_key", feature.recorded_name);
      record.videos[feature.recorded_name].file = fill_template(info.video_path, with_camera, info.info_path);
    }
  }
  return record;
}

std::vector<EpisodeRecord> read_v2(const DatasetInfo& info, std::vector<Finding>* broken) {
  std::vector<EpisodeRecord> records;
  const auto on_error = [&](const Error& error) {
    broken->push_back(finding_of(error, "episodes_unreadable", info.root));
  };
  for_each_json_line(
      info.root + "/meta/episodes.jsonl", [&](const JsonLine& line) { records.push_back(record_of_line(info, line)); },
      broken ? std::function<void(const Error&)>(on_error) : nullptr);
  return records;
}

std::vector<std::string> episode_files(const std::string& root) {
  const std::string folder = root + "/meta/episodes";
  std::vector<std::string> files;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink, code), end;
       !code && it != end; it.increment(code)) {
    if (it->path().extension() == ".parquet") {
      files.push_back(it->path().string());
    }
  }
  if (files.empty()) {
    throw Error(ErrorKind::kFile, "no Parquet file of episodes", folder,
                "a v3.0 dataset keeps its episodes in meta/episodes/chunk-000/file-000.parquet");
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The columns of one metadata file that the reader needs.
class EpisodeTable {
 public:
  EpisodeTable(const DatasetInfo& info, const std::string& path)
      : info_(info),
        reader_(table::ParquetReader::open(path)),
        relative_(fs::path(path).lexically_relative(info.root).string()) {
    std::vector<std::string> names = {"episode_index",      "length",          "data/chunk_index", "data/file_index",
                                      "dataset_from_index", "dataset_to_index"};
    for (const FeatureInfo& feature : info.features) {
      const std::string prefix = str_cat("videos/", feature.recorded_name, "/");
      if (feature.dtype == "video" && reader_.find(prefix + "file_index")) {
        cameras_.push_back(feature.recorded_name);
        for (const auto* part : {"chunk_index", "file_index", "from_timestamp", "to_timestamp"}) {
          names.push_back(prefix + part);
        }
      }
    }
    columns_ = reader_.read_numerics(names);
    if (reader_.find("tasks")) {
      tasks_ = reader_.read_text_lists("tasks");
      for (auto& tasks : tasks_) {
        std::transform(tasks.begin(), tasks.end(), tasks.begin(),
                       [](const std::string& text) { return to_utf8(text); });
      }
    }
  }

  void append_to(std::vector<EpisodeRecord>& records, std::vector<Finding>* broken) const {
    for (int64_t row = 0; row < reader_.num_rows(); ++row) {
      attempt("episodes_unreadable", info_.root, broken, [&] {
        try {
          records.push_back(record(row));
        } catch (const Error& error) {
          throw Error(error.kind(), error.what(),
                      error.where().empty() ? str_cat(reader_.path(), ", row ", row) : error.where(), error.hint());
        }
      });
    }
  }

 private:
  int64_t whole(size_t column, int64_t row) const { return static_cast<int64_t>(columns_[column].at(row)); }

  EpisodeRecord record(int64_t row) const {
    EpisodeRecord record;
    record.place = str_cat(relative_, ", row ", row);
    record.episode_index = whole(0, row);
    record.length = whole(1, row);
    check_size(record);
    record.data_file = fill_template(info_.data_path, {{"chunk_index", whole(2, row)}, {"file_index", whole(3, row)}},
                                     info_.info_path);
    record.from_index = whole(4, row);
    record.to_index = whole(5, row);
    if (!tasks_.empty()) {
      record.tasks = tasks_[static_cast<size_t>(row)];
    }
    for (size_t i = 0; i < cameras_.size(); ++i) {
      const size_t column = 6 + 4 * i;
      auto& video = record.videos[cameras_[i]];
      video.file = fill_template(
          info_.video_path,
          {{"video_key", cameras_[i]}, {"chunk_index", whole(column, row)}, {"file_index", whole(column + 1, row)}},
          info_.info_path);
      video.from_s = columns_[column + 2].at(row);
      video.to_s = columns_[column + 3].at(row);
      if (!(video.from_s >= 0 && video.from_s < kMaxTimeS)) {
        throw Error(ErrorKind::kData, str_cat("videos/", cameras_[i], "/from_timestamp is ", video.from_s),
                    str_cat(reader_.path(), ", row ", row));
      }
    }
    return record;
  }

  const DatasetInfo& info_;
  table::ParquetReader reader_;
  std::string relative_;
  std::vector<std::string> cameras_;
  std::vector<table::NumericColumn> columns_;
  std::vector<std::vector<std::string>> tasks_;
};

void check_ranges(const std::vector<EpisodeRecord>& records, std::vector<Finding>& findings) {
  int64_t next = 0;
  for (const EpisodeRecord& record : records) {
    if (record.length < 1) {
      findings.push_back({.code = "empty_episode",
                          .severity = record.length == 0 ? Severity::kWarning : Severity::kError,
                          .file = file_of_place(record.place),
                          .episode = record.episode_index,
                          .expected = "at least 1 frame",
                          .found = str_cat(record.length),
                          .message = str_cat("length of the episode (", record.place, ")")});
    }
    if (!record.from_index) {
      continue;
    }
    if (*record.to_index - *record.from_index != record.length || *record.from_index != next) {
      findings.push_back({.code = "index_range",
                          .severity = Severity::kError,
                          .file = file_of_place(record.place),
                          .episode = record.episode_index,
                          .expected = str_cat("[", next, ", ", next + record.length, ")"),
                          .found = str_cat("[", *record.from_index, ", ", *record.to_index, ")"),
                          .message = "dataset_from_index and dataset_to_index do not follow the lengths"});
    }
    next = *record.to_index;
  }
}

/// Of episodes with the same number the first stays.
void drop_duplicates(const std::string& root, std::vector<EpisodeRecord>& records, std::vector<Finding>* broken) {
  std::vector<EpisodeRecord> unique;
  for (EpisodeRecord& record : records) {
    const bool is_new = unique.empty() || unique.back().episode_index != record.episode_index;
    attempt("episode_duplicate", root, broken, [&] {
      if (!is_new) {
        throw Error(ErrorKind::kData,
                    str_cat("episode_index ", record.episode_index, " appears twice, first in ", unique.back().place),
                    root + "/" + record.place, "remove one of the two, or copy the file again");
      }
    });
    if (is_new) {
      unique.push_back(std::move(record));
    } else {
      broken->back().episode = record.episode_index;
    }
  }
  records = std::move(unique);
}

void check_numbers(const std::string& root, std::vector<EpisodeRecord>& records, std::vector<Finding>& findings,
                   std::vector<Finding>* broken) {
  const auto by_number = [](const EpisodeRecord& a, const EpisodeRecord& b) {
    return a.episode_index < b.episode_index;
  };
  if (!std::is_sorted(records.begin(), records.end(), by_number)) {
    findings.push_back({.code = "episode_order",
                        .severity = Severity::kWarning,
                        .file = file_of_place(records[0].place),
                        .message = "the rows of the episodes are not in ascending order"});
    std::stable_sort(records.begin(), records.end(), by_number);
  }
  drop_duplicates(root, records, broken);
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].episode_index != static_cast<int64_t>(i)) {
      findings.push_back({.code = "episode_numbers",
                          .severity = Severity::kError,
                          .file = file_of_place(records[i].place),
                          .episode = records[i].episode_index,
                          .expected = str_cat(i),
                          .found = str_cat(records[i].episode_index),
                          .message = "episodes are not numbered 0, 1, 2, ..."});
      return;  // one gap shifts all that follow
    }
  }
}

}  // namespace

std::vector<EpisodeRecord> read_episode_records(const DatasetInfo& info, std::vector<Finding>& findings,
                                                std::vector<Finding>* broken) {
  std::vector<EpisodeRecord> records;
  attempt("episodes_unreadable", info.root, broken, [&] {
    if (info.major == 2) {
      records = read_v2(info, broken);
      return;
    }
    for (const std::string& path : episode_files(info.root)) {
      attempt("episodes_unreadable", info.root, broken, [&] { EpisodeTable(info, path).append_to(records, broken); });
    }
  });
  const bool has_reason = broken != nullptr && !broken->empty();
  if (records.empty() && !has_reason) {
    attempt("no_episodes", info.root, broken, [&] {
      throw Error(ErrorKind::kData, "the dataset has no episodes", info.root + "/meta",
                  "copy meta/ again from where the dataset was recorded");
    });
  }
  if (!records.empty()) {
    check_numbers(info.root, records, findings, broken);
    check_ranges(records, findings);
  }
  return records;
}

}  // namespace flexor::data
