#include "recap/episode_outcomes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/jsonl.h"
#include "recap/returns_scan.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKey = "is_success";
constexpr std::string_view kHint =
    "record a column is_success, add is_success to the episodes' metadata, give success_episodes: [...], or use type: "
    "sft if every episode is a success";

std::string list_of(const std::vector<int64_t>& numbers) {
  std::string text;
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(kShown, numbers.size()); ++i) {
    text += str_cat(i == 0 ? "" : ", ", numbers[i]);
  }
  return numbers.size() > kShown ? text + ", ..." : text;
}

}  // namespace

EpisodeOutcomes::EpisodeOutcomes(const std::string& root, const DatasetEntry& entry, const std::string& type,
                                 const std::string& first_file)
    : root_(root), type_(type) {
  if (is_sft(type)) {
    return;
  }
  const std::string& from = entry.success_from;
  if (from == "list" || (from.empty() && entry.success_episodes)) {
    source_ = Source::kList;
    listed_.insert(entry.success_episodes->begin(), entry.success_episodes->end());
    return;
  }
  if (fs::file_size(first_file) == 0) {
    throw Error(ErrorKind::kData, "the file has 0 bytes", first_file, "copy the dataset again");
  }
  if (from != "episodes" && table::ParquetReader::open(first_file).find(kKey) != nullptr) {
    source_ = Source::kColumn;
    return;
  }
  if (from == "column") {
    throw Error(ErrorKind::kData, str_cat("no column is_success, which type ", type, " needs"), first_file,
                std::string(kHint));
  }
  source_ = Source::kEpisodes;
  read_metadata();
  if (by_episode_.empty()) {
    throw Error(ErrorKind::kData,
                str_cat("no outcome of the episodes, which type ", type,
                        " needs: no column is_success, and none in the episodes' metadata"),
                first_file, std::string(kHint));
  }
  log_info("outcomes come from the episodes' metadata", {{"dataset", root}, {"episodes", by_episode_.size()}});
}

void EpisodeOutcomes::read_metadata() {
  if (const std::string path = root_ + "/meta/episodes.jsonl"; fs::exists(path)) {
    read_lines(path);
  } else if (fs::is_directory(root_ + "/meta/episodes")) {
    read_tables();
  }
}

void EpisodeOutcomes::read_lines(const std::string& path) {
  for (const data::JsonLine& line : data::read_jsonl(path)) {
    const Json* outcome = line.json.find(kKey);
    if (outcome == nullptr || outcome->is_null()) {
      continue;
    }
    const Json* number = line.json.find("episode_index");
    if (number == nullptr || !number->is_int() || !(outcome->is_bool() || outcome->is_int())) {
      throw Error(ErrorKind::kData,
                  str_cat("expected episode_index and a true or false is_success, found ", line.json.dump()),
                  str_cat(path, ":", line.line));
    }
    by_episode_[number->as_int()] = outcome->is_bool() ? outcome->as_bool() : outcome->as_int() != 0;
  }
}

void EpisodeOutcomes::read_tables() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root_ + "/meta/episodes")) {
    if (entry.path().extension() == ".parquet") {
      files.push_back(entry.path().string());
    }
  }
  for (const std::string& file : files) {
    const auto reader = table::ParquetReader::open(file);
    if (reader.find(kKey) == nullptr) {
      continue;
    }
    const auto columns = reader.read_numerics({"episode_index", std::string(kKey)});
    for (int64_t row = 0; row < columns[0].rows; ++row) {
      if (const double outcome = columns[1].at(row); !std::isnan(outcome)) {
        by_episode_[static_cast<int64_t>(columns[0].at(row))] = outcome != 0;
      }
    }
  }
}

void EpisodeOutcomes::apply(std::vector<ScannedEpisode>& episodes) const {
  if (source_ == Source::kList) {
    std::unordered_set<int64_t> unknown = listed_;
    for (ScannedEpisode& episode : episodes) {
      episode.success = listed_.count(episode.episode_index) > 0;
      unknown.erase(episode.episode_index);
    }
    std::vector<int64_t> left(unknown.begin(), unknown.end());
    std::sort(left.begin(), left.end());
    if (!left.empty()) {
      throw Error(ErrorKind::kData,
                  str_cat("success_episodes lists episodes that the dataset does not have: ", list_of(left)), root_,
                  str_cat("it has ", episodes.size(), " episodes"));
    }
  } else if (source_ == Source::kEpisodes) {
    std::vector<int64_t> missing;
    for (ScannedEpisode& episode : episodes) {
      const auto found = by_episode_.find(episode.episode_index);
      if (found == by_episode_.end()) {
        missing.push_back(episode.episode_index);
      } else {
        episode.success = found->second;
      }
    }
    if (!missing.empty()) {
      throw Error(ErrorKind::kData,
                  str_cat(missing.size(), " episodes have no is_success in the metadata: ", list_of(missing)), root_,
                  std::string(kHint));
    }
  }
}

}  // namespace flexor::recap
