#include "curate/edit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "curate/damaged_dataset_fixture.h"
#include "curate/verify.h"
#include "data/dataset.h"
#include "data/dataset_stats.h"
#include "data/picture_source.h"
#include "media/video_copy.h"
#include "media/video_reencode.h"
#include "table/row_copy.h"
#include "testing/golden.h"

namespace flexor::curate {
namespace {

using flexor::testing::dataset_path;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class EditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("flexor_edit_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static EditOptions to(TargetVersion version) { return {.version = version, .limits = {}, .reencode = false}; }

  fs::path folder_;
};

data::Dataset open_all(const std::string& root) {
  return data::Dataset::open({.root = root, .episodes = {}, .rename_map = {}, .columns = {"*"}});
}

/// Every column, task and picture of episode `b_episode` of `b` is that of episode `a_episode` of `a`.
void expect_same_episode(const data::Dataset& a, int64_t a_episode, const data::Dataset& b, int64_t b_episode) {
  ASSERT_EQ(a.episode(a_episode).length, b.episode(b_episode).length);
  data::PictureSource pictures_a, pictures_b;
  for (int64_t i = 0; i < a.episode(a_episode).length; ++i) {
    const int64_t p = a.first_position(a_episode) + i, q = b.first_position(b_episode) + i;
    ASSERT_EQ(a.task(p), b.task(q));
    for (const data::FeatureInfo& feature : a.info().features) {
      const bool is_number = feature.name == "index" || feature.name == "episode_index" || feature.name == "task_index";
      for (int64_t dim = 0; feature.is_numeric() && !is_number && dim < feature.size(); ++dim) {
        ASSERT_EQ(a.value(feature.name, p, dim), b.value(feature.name, q, dim)) << feature.name << " frame " << i;
      }
    }
    ASSERT_EQ(b.value("index", q), static_cast<double>(q));
    ASSERT_EQ(b.value("episode_index", q), static_cast<double>(b_episode));
    for (size_t camera = 0; camera < a.cameras().size() && i % 7 == 0; ++camera) {
      const media::Picture first = pictures_a.read(a.picture(static_cast<int64_t>(camera), p));
      ASSERT_EQ(first.rgb, pictures_b.read(b.picture(static_cast<int64_t>(camera), q)).rgb) << "frame " << i;
    }
  }
}

void expect_same(const std::string& a_root, const std::string& b_root) {
  const data::Dataset a = open_all(a_root), b = open_all(b_root);
  ASSERT_EQ(a.num_episodes(), b.num_episodes());
  ASSERT_EQ(a.cameras().size(), b.cameras().size());
  for (int64_t episode = 0; episode < a.num_episodes(); ++episode) {
    expect_same_episode(a, episode, b, episode);
  }
}

void expect_no_errors(const std::string& root) {
  for (const data::Finding& finding : verify_dataset({.root = root, .decode = true}).findings) {
    EXPECT_NE(finding.severity, data::Severity::kError) << finding.message << " " << finding.where(root);
  }
}

/// Everything of a table file, as text.
std::string table_text(const std::string& path) {
  table::RowReader reader(path);
  const table::Rows rows = reader.read(0, reader.num_rows());
  std::string text;
  for (const std::string& name : reader.columns()) {
    text += name + " " + rows.info(name).type_text;
    const table::NumberLists lists = rows.number_lists(name);
    for (const double value : lists.values) {
      text += " " + std::to_string(value);
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> files_below(const std::string& root) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path().lexically_relative(root).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

const std::vector<const char*> kNames = {"v21_h264", "v21_av1", "v30_av1", "v30_images", "v30_small", "v30_from_v21"};

TEST_F(EditTest, EveryDatasetIsTheSameInBothVersions) {
  for (const auto* name : kNames) {
    for (const TargetVersion version : {TargetVersion::kV21, TargetVersion::kV30}) {
      const std::string target = path(std::string(name) + std::string(version_name(version)));
      const RewriteReport report = convert_dataset(dataset_path(name), target, to(version));
      EXPECT_EQ(report.episodes, 6);
      EXPECT_EQ(report.videos_reencoded, 0);
      EXPECT_EQ(open_all(target).info().version, version_name(version));
      expect_same(dataset_path(name), target);
      expect_no_errors(target);
    }
  }
}

TEST_F(EditTest, FilesAndIndicesAreThoseOfTheReferenceConverter) {
  EditOptions options = to(TargetVersion::kV30);
  options.limits = {0.008, 0.03};
  convert_dataset(dataset_path("v21_h264"), path("out"), options);
  table::RowReader theirs(dataset_path("golden/episodes_smallfiles_head.parquet"));
  table::RowReader ours(path("out/meta/episodes/chunk-000/file-000.parquet"));
  ASSERT_EQ(ours.num_rows(), 6);
  const table::Rows a = ours.read(0, 6), b = theirs.read(0, 6);
  for (const std::string& name : theirs.columns()) {
    EXPECT_EQ(a.info(name).type_text, b.info(name).type_text) << name;
    if (name == "tasks") {
      EXPECT_EQ(a.text_lists(name), b.text_lists(name));
    } else {
      EXPECT_EQ(a.number_lists(name).values, b.number_lists(name).values) << name;
    }
  }
  EXPECT_EQ(ours.columns().size(), theirs.columns().size());
  EXPECT_TRUE(fs::exists(path("out/data/chunk-000/file-003.parquet")));
  EXPECT_FALSE(fs::exists(path("out/data/chunk-000/file-004.parquet")));
  EXPECT_TRUE(fs::exists(path("out/videos/observation.images.top/chunk-000/file-002.mp4")));
  EXPECT_FALSE(fs::exists(path("out/videos/observation.images.top/chunk-000/file-003.mp4")));
}

TEST_F(EditTest, StatisticsAreThoseOfTheReferenceConverter) {
  convert_dataset(dataset_path("v21_h264"), path("out"), to(TargetVersion::kV30));
  const Json ours = Json::read_file(path("out") + "/meta/stats.json");
  const Json theirs = Json::read_file(dataset_path("golden/stats_v30_from_v21_by_head_converter.json"));
  EXPECT_EQ(ours.size(), theirs.size());
  for (const auto& [feature, stats] : theirs.as_object()) {
    for (const auto& [stat, value] : stats.as_object()) {
      const std::vector<double> a = ours.at(feature).at(stat).as_numbers(), b = value.as_numbers();
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], 1e-9 * std::max(1.0, std::abs(b[i]))) << feature << " " << stat;
      }
    }
  }
  EXPECT_TRUE(ours.at("next.done").at("min").as_array()[0].is_bool());
  EXPECT_TRUE(ours.at("frame_index").at("max").as_array()[0].is_int());
}

TEST_F(EditTest, ThereAndBackAgainGivesTheSameTablesAndPackets) {
  for (const auto* name : {"v21_h264", "v21_av1"}) {
    const std::string source = dataset_path(name), there = path(std::string(name) + "_v30"), back = path(name);
    convert_dataset(source, there, to(TargetVersion::kV30));
    convert_dataset(there, back, to(TargetVersion::kV21));
    ASSERT_EQ(files_below(back), files_below(source));
    for (const std::string& file : files_below(source)) {
      if (file.ends_with(".parquet")) {
        EXPECT_EQ(table_text(source + "/" + file), table_text(back + "/" + file)) << file;
      } else if (file.ends_with(".mp4")) {  // the same packets make the same file
        media::VideoCopier().copy({{source + "/" + file}}, path("a.mp4"));
        media::VideoCopier().copy({{back + "/" + file}}, path("b.mp4"));
        EXPECT_TRUE(read_file(path("a.mp4")) == read_file(path("b.mp4"))) << file;
      } else if (file.ends_with(".json")) {
        EXPECT_EQ(Json::read_file(source + "/" + file), Json::read_file(back + "/" + file)) << file;
      } else {
        EXPECT_EQ(read_file(source + "/" + file), read_file(back + "/" + file)) << file;
      }
    }
  }
}

TEST_F(EditTest, WhatTheFormatDoesNotKnowIsKept) {
  const DamagedDataset source("v21_h264");
  source.write("README.md", "read me");
  source.write("meta/modality.json", "{}");
  source.replace("meta/episodes.jsonl", "\"length\": 32}", "\"length\": 32, \"note\": \"ü\", \"steps\": [{\"a\": 1}]}");
  source.edit_json("meta/info.json", [](Json& info) { info["license"] = "mit"; });
  convert_dataset(source.root(), path("v30"), to(TargetVersion::kV30));
  convert_dataset(path("v30"), path("v21"), to(TargetVersion::kV21));
  for (const auto* version : {"v30", "v21"}) {
    EXPECT_EQ(read_file(path(version) + "/README.md"), "read me");
    EXPECT_EQ(read_file(path(version) + "/meta/modality.json"), "{}");
    EXPECT_EQ(Json::read_file(path(version) + "/meta/info.json").at("license"), Json("mit"));
  }
  EXPECT_EQ(read_file(path("v21") + "/meta/episodes.jsonl"), read_file(source.path("meta/episodes.jsonl")));
}

TEST_F(EditTest, DepthAndLanguageColumnsAreKept) {
  const std::string source = dataset_path("v30_head_depth_language");
  convert_dataset(source, path("v21"), to(TargetVersion::kV21));
  convert_dataset(path("v21"), path("v30"), to(TargetVersion::kV30));
  const std::string file = "/data/chunk-000/file-000.parquet";
  const auto before = table::ParquetReader::open(source + file), after = table::ParquetReader::open(path("v30") + file);
  ASSERT_EQ(after.num_row_groups(), 2);
  for (const table::ColumnInfo& column : before.columns()) {
    EXPECT_EQ(after.column(column.name).type_text, column.type_text);
  }
  const std::string depth = "/videos/observation.images.depth/chunk-000/file-000.mp4";
  media::VideoCopier().copy({{source + depth}}, path("a.mp4"));
  media::VideoCopier().copy({{path("v30") + depth}}, path("b.mp4"));
  EXPECT_TRUE(read_file(path("a.mp4")) == read_file(path("b.mp4")));
  const Json a = Json::read_file(source + "/meta/info.json").at("features");
  const Json b = Json::read_file(path("v30") + "/meta/info.json").at("features");
  EXPECT_EQ(a.at("observation.images.depth"), b.at("observation.images.depth"));
  const Json stats_a = Json::read_file(source + "/meta/stats.json"),
             stats_b = Json::read_file(path("v30") + "/meta/stats.json");
  const auto a_std = stats_a.at("observation.images.depth").at("std").as_numbers();
  const auto b_std = stats_b.at("observation.images.depth").at("std").as_numbers();
  ASSERT_EQ(b_std.size(), 1U);
  EXPECT_NEAR(b_std[0], a_std[0], 1e-6 * a_std[0]);  // put together from those of the episodes
}

TEST_F(EditTest, SomeEpisodesAreNumberedAnewWithTheTasksThatTheyUse) {
  for (const auto* name : {"v21_h264", "v30_small", "v30_images"}) {
    const std::string target = path(name);
    delete_episodes(dataset_path(name), target, {0, 3, 4}, {});
    const data::Dataset before = open_all(dataset_path(name)), after = open_all(target);
    ASSERT_EQ(after.num_episodes(), 3);
    expect_same_episode(before, 1, after, 0);
    expect_same_episode(before, 2, after, 1);
    expect_same_episode(before, 5, after, 2);
    EXPECT_EQ(after.tasks().size(), 1U);  // the other was that of episodes 0 and 3 and half of 4
    EXPECT_EQ(after.info().total_frames, 45 + 60 + 38);
    expect_no_errors(target);
  }
}

TEST_F(EditTest, PartsPutTogetherAgainAreTheWhole) {
  split_dataset(dataset_path("v30_small"), path("parts"), {{"a", {0, 1, 2}, {}}, {"b", {3, 4, 5}, {}}}, {});
  merge_datasets({path("parts/a"), path("parts/b")}, path("whole"), {});
  const data::Dataset before = open_all(dataset_path("v30_small")), after = open_all(path("whole"));
  ASSERT_EQ(after.num_episodes(), 6);
  for (int64_t episode = 0; episode < 6; ++episode) {
    expect_same_episode(before, episode, after, episode);
  }
  expect_no_errors(path("whole"));
  for (const auto& [name, stats] : before.stats()) {
    for (const auto& [stat, values] : stats.values) {
      if (stat.starts_with("q") || name.starts_with("observation.images") || name == "task_index") {
        continue;  // bounds; a wrong std in the source; another order of the tasks
      }
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(after.stats().at(name).at(stat)[i], values[i], 1e-6) << name << " " << stat;
      }
    }
  }
}

TEST_F(EditTest, DatasetsOfTwoVersionsMergeIntoTheNewer) {
  const RewriteReport report = merge_datasets({dataset_path("v21_h264"), dataset_path("v30_small")}, path("both"), {});
  EXPECT_EQ(report.version, "v3.0");
  EXPECT_EQ(report.tasks, 2);
  const data::Dataset first = open_all(dataset_path("v21_h264")), both = open_all(path("both"));
  ASSERT_EQ(both.num_episodes(), 12);
  for (int64_t episode = 0; episode < 6; ++episode) {
    expect_same_episode(first, episode, both, episode);
    expect_same_episode(first, episode, both, episode + 6);
  }
  expect_no_errors(path("both"));
}

TEST_F(EditTest, SharesTakeConsecutiveEpisodes) {
  const auto reports = split_dataset(dataset_path("v21_h264"), path("parts"),
                                     {parse_split_part("train=0.7"), parse_split_part("val=0.3")}, {});
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].episodes, 4);
  EXPECT_EQ(reports[1].episodes, 2);
  EXPECT_EQ(reports[1].dataset, path("parts") + "/val");
  expect_same_episode(open_all(dataset_path("v21_h264")), 5, open_all(path("parts/val")), 1);
}

TEST_F(EditTest, TablesKeyedByEpisodeKeepTheRowsOfTheEpisodes) {
  const DamagedDataset source("v21_h264");
  std::vector<int64_t> episode, frame;
  std::vector<float> value;
  for (int64_t e = 0; e < 6; ++e) {
    for (int64_t f = 0; f < 3; ++f) {
      episode.push_back(e);
      frame.push_back(f);
      value.push_back(static_cast<float>(10 * e + f));
    }
  }
  table::write_parquet(source.path("meta/returns_a.parquet"), {{.name = "episode_index", .values = episode},
                                                               {.name = "frame_index", .values = frame},
                                                               {.name = "return", .values = value}});
  delete_episodes(source.root(), path("fewer"), {1, 2, 3, 4}, {});
  const auto kept = table::ParquetReader::open(path("fewer/meta/returns_a.parquet"));
  EXPECT_THAT(std::get<std::vector<int64_t>>(kept.read_numeric("episode_index").values), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(std::get<std::vector<float>>(kept.read_numeric("return").values), ElementsAre(0, 1, 2, 50, 51, 52));
  const RewriteReport merged = merge_datasets({source.root(), dataset_path("v21_h264")}, path("merged"), {});
  EXPECT_THAT(merged.dropped, Contains(HasSubstr("meta/returns_a.parquet: not all sources have it")));
  EXPECT_FALSE(fs::exists(path("merged/meta/returns_a.parquet")));
}

/// A v2.0 dataset: statistics of the whole, none of the episodes, and a camera without files.
void make_v20(const DamagedDataset& dataset) {
  dataset.remove("meta/episodes_stats.jsonl");
  dataset.write("meta/stats.json", "{}");
  dataset.edit_json("meta/info.json", [](Json& info) {
    info["codebase_version"] = "v2.0";
    info["fps"] = 10.0;
    Json camera = info.at("features").at("observation.images.top");
    const Json video = camera.at("info");  // a copy: a new key moves the others
    camera["video_info"] = video;
    camera.erase("info");
    info["features"]["observation.images.gone"] = camera;
    info["features"]["observation.images.top"] = camera;
  });
}

TEST_F(EditTest, StatisticsThatV20LacksAreComputed) {
  const DamagedDataset source("v21_h264");
  make_v20(source);
  const RewriteReport report = convert_dataset(source.root(), path("v30"), to(TargetVersion::kV30));
  EXPECT_THAT(report.dropped, ElementsAre(HasSubstr("camera observation.images.gone")));
  const data::Dataset before = open_all(dataset_path("v21_h264")), after = open_all(path("v30"));
  EXPECT_EQ(after.info().fps, (data::FrameRate{10, 1}));
  EXPECT_TRUE(after.info().json.at("features").at("observation.images.top").find("info"));
  for (const auto* name : {"action", "observation.state", "timestamp", "frame_index"}) {
    for (const auto* stat : {"min", "max", "mean", "std", "count"}) {
      const auto &a = before.stats().at(name).at(stat), &b = after.stats().at(name).at(stat);
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], 1e-5) << name << " " << stat;
      }
    }
  }
  const auto& picture = after.stats().at("observation.images.top");
  EXPECT_EQ(picture.shape, (std::vector<int64_t>{3, 1, 1}));
  for (size_t i = 0; i < 3; ++i) {  // those are of the pictures before compression
    EXPECT_NEAR(picture.at("mean")[i], before.stats().at("observation.images.top").at("mean")[i], 0.02);
  }
  expect_same(dataset_path("v21_h264"), path("v30"));
}

TEST_F(EditTest, TimestampsThatStartLateBeginAtZero) {
  const DamagedDataset source("v21_h264");
  for (const auto& file : files_below(source.root())) {
    if (!file.ends_with(".parquet")) {
      continue;
    }
    table::RowReader reader(source.path(file));
    table::Rows rows = reader.read(0, reader.num_rows());
    std::vector<float> times;
    for (const double time : rows.numbers("timestamp")) {
      times.push_back(static_cast<float>(time + 0.1));
    }
    rows.set("timestamp", times);
    std::vector<table::RowColumn> columns;
    for (const std::string& name : reader.columns()) {
      columns.push_back({.name = name});
    }
    table::RowWriter writer(source.path(file), columns);
    writer.write(rows);
    writer.close();
  }
  source.remove("meta/episodes_stats.jsonl");
  convert_dataset(source.root(), path("v30"), to(TargetVersion::kV30));
  expect_same(dataset_path("v21_h264"), path("v30"));
}

TEST_F(EditTest, ABrokenSourceIsRefusedAndNothingIsLeft) {
  const DamagedDataset source("v21_h264");
  source.cut("videos/chunk-000/observation.images.top/episode_000003.mp4", 2000);
  EXPECT_THROW(convert_dataset(source.root(), path("out"), to(TargetVersion::kV30)), Error);
  EXPECT_TRUE(fs::is_empty(folder_));
  delete_episodes(source.root(), path("out"), {3}, {});  // what is left out may be broken
  EXPECT_EQ(open_all(path("out")).num_episodes(), 5);
  expect_no_errors(path("out"));
}

TEST_F(EditTest, TheSourceIsNotTouched) {
  const DamagedDataset source("v30_small");
  for (const auto& entry : fs::recursive_directory_iterator(source.root())) {
    fs::permissions(entry, fs::perms::owner_read | fs::perms::owner_exec);
  }
  std::vector<fs::file_time_type> before, after;
  for (const std::string& file : files_below(source.root())) {
    before.push_back(fs::last_write_time(source.path(file)));
  }
  convert_dataset(source.root(), path("out"), to(TargetVersion::kV21));
  for (const std::string& file : files_below(source.root())) {
    after.push_back(fs::last_write_time(source.path(file)));
  }
  EXPECT_EQ(before, after);
  for (const auto& entry : fs::recursive_directory_iterator(source.root())) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  }
}

TEST_F(EditTest, AFolderThatExistsOrLiesInTheSourceIsRefused) {
  fs::create_directories(path("there"));
  EXPECT_THROW(convert_dataset(dataset_path("v21_h264"), path("there"), to(TargetVersion::kV30)), Error);
  const DamagedDataset source("v21_h264");
  EXPECT_THROW(convert_dataset(source.root(), source.path("out"), to(TargetVersion::kV30)), Error);
  EXPECT_FALSE(fs::exists(source.path("out")));
}

TEST_F(EditTest, VideosOfOtherEncodersAreRefusedOrEncodedAgain) {
  const std::vector<std::string> sources = {dataset_path("v21_h264"), dataset_path("v21_av1")};
  try {
    merge_datasets(sources, path("out"), {});  // a file per episode, but info.json says one codec for all
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is av1 yuv420p, in the first dataset h264 yuv420p"));
    EXPECT_THAT(error.hint(), HasSubstr("--to v3.0 --reencode"));
  }
  EXPECT_FALSE(fs::exists(path("out")));
  try {
    merge_datasets(sources, path("joined"), to(TargetVersion::kV30));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("codec av1 instead of h264"));
    EXPECT_THAT(error.hint(), HasSubstr("--reencode"));
  }
  EXPECT_FALSE(fs::exists(path("joined")));
  EditOptions options = to(TargetVersion::kV30);
  options.reencode = true;
  const RewriteReport report = merge_datasets(sources, path("joined"), options);
  EXPECT_EQ(report.videos_reencoded, 2);
  EXPECT_EQ(open_all(path("joined")).num_episodes(), 12);
  expect_no_errors(path("joined"));
}

TEST_F(EditTest, AVideoThatWasEncodedAsAWholeIsCutWithReencodeOnly) {
  const DamagedDataset source("v30_from_v21");
  for (const auto* camera : {"observation.images.top", "observation.images.wrist"}) {
    const std::string file = source.path(std::string("videos/") + camera + "/chunk-000/file-000.mp4");
    media::reencode_parts({{file}}, path("whole.mp4"), {.codec = "h264", .pix_fmt = "yuv420p", .gop = 50, .crf = 20});
    fs::copy_file(path("whole.mp4"), file, fs::copy_options::overwrite_existing);
  }
  convert_dataset(source.root(), path("v30"),
                  to(TargetVersion::kV30));  // all episodes follow each other: nothing is cut
  expect_same(source.root(), path("v30"));
  try {
    convert_dataset(source.root(), path("v21"), to(TargetVersion::kV21));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("video packets cannot be copied: "));
    EXPECT_THAT(error.where(), HasSubstr("file-000.mp4, frame "));
    EXPECT_THAT(error.hint(), HasSubstr("--reencode"));
  }
  EXPECT_FALSE(fs::exists(path("v21")));
  EditOptions options = to(TargetVersion::kV21);
  options.reencode = true;
  const RewriteReport report = convert_dataset(source.root(), path("v21"), options);
  EXPECT_EQ(report.videos_reencoded + report.videos_copied,
            12);  // the encoder put key frames at some of the beginnings
  EXPECT_THAT(report.reencoded, Contains("videos/chunk-000/observation.images.wrist/episode_000001.mp4"));
  expect_no_errors(path("v21"));
  const data::Dataset before = open_all(source.root()), after = open_all(path("v21"));
  data::PictureSource pictures_a, pictures_b;
  for (const int64_t position : {0, 31, 32, 100, 250}) {  // the same picture but for the loss of one more encoding
    const media::Picture a = pictures_a.read(before.picture(0, position));
    const media::Picture b = pictures_b.read(after.picture(0, position));
    double difference = 0;
    for (size_t i = 0; i < a.rgb.size(); ++i) {
      difference += std::abs(a.rgb[i] - b.rgb[i]);
    }
    EXPECT_LT(difference / static_cast<double>(a.rgb.size()), 4) << position;
  }
}

TEST_F(EditTest, DatasetsOfOtherRobotsOrRatesDoNotMerge) {
  const DamagedDataset other("v21_h264");
  other.edit_json("meta/info.json", [](Json& info) { info["robot_type"] = "another"; });
  EXPECT_THROW(merge_datasets({dataset_path("v21_h264"), other.root()}, path("out"), {}), Error);
}

TEST(EditTexts, EpisodesAndParts) {
  EXPECT_THAT(parse_episodes("3"), ElementsAre(3));
  EXPECT_THAT(parse_episodes("0-2,7"), ElementsAre(0, 1, 2, 7));
  for (const auto* text : {"", "a", "3-1", "-1", "1,,2", "1-"}) {
    EXPECT_THROW(parse_episodes(text), Error) << text;
  }
  EXPECT_EQ(parse_split_part("train=0.8").share, 0.8);
  EXPECT_THAT(parse_split_part("val=4,5").episodes, ElementsAre(4, 5));
  for (const auto* text : {"train", "=0.5", "a/b=0.5", "..=0.5", "a=1.5", "a=0.0", "a=x"}) {
    EXPECT_THROW(parse_split_part(text), Error) << text;
  }
}

TEST_F(EditTest, PartsMustNotOverlapOrMix) {
  const std::string source = dataset_path("v21_h264");
  const SplitPart a{"a", {0, 1}, {}}, b{"b", {1, 2}, {}}, half{"half", {}, 0.5}, rest{"rest", {}, 0.6};
  EXPECT_THROW(split_dataset(source, path("x"), {a, b}, {}), Error);
  EXPECT_THROW(split_dataset(source, path("x"), {a, half}, {}), Error);
  EXPECT_THROW(split_dataset(source, path("x"), {half, rest}, {}), Error);
  EXPECT_THROW(split_dataset(source, path("x"), {a, a}, {}), Error);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace flexor::curate
