#include "data/dataset_check.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "table/parquet_writer.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using table::Layout;
using table::WriteColumn;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A copy of a small v2.1 dataset that tests damage.
class DamagedDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "damaged_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    copy("v21_h264");
  }
  void TearDown() override { fs::remove_all(root_); }

  void copy(const std::string& name) {
    fs::remove_all(root_);
    fs::copy(testing::tests_path("data/datasets/" + name), root_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    }
  }

  std::string parquet(int episode) const {
    return root_ + "/data/chunk-000/episode_00000" + std::to_string(episode) + ".parquet";
  }
  std::string video(int episode) const {
    return root_ + "/videos/chunk-000/observation.images.top/episode_00000" + std::to_string(episode) + ".mp4";
  }

  /// Rewrites the table of an episode after `edit` changed its columns.
  void rewrite(int episode, const std::function<void(std::vector<WriteColumn>&)>& edit) {
    std::vector<WriteColumn> columns;
    {
      const auto reader = table::ParquetReader::open(parquet(episode));
      for (const table::ColumnInfo& info : reader.columns()) {
        auto column = reader.read_numeric(info.name);
        WriteColumn write{info.name, info.depth > 0 ? Layout::kList : Layout::kScalar, column.width, {}};
        std::visit([&](auto& values) { write.values = std::move(values); }, column.values);
        columns.push_back(std::move(write));
      }
    }
    edit(columns);
    table::write_parquet(parquet(episode), columns);
  }

  template <typename T>
  void set(int episode, const std::string& column, size_t element, T value) {
    rewrite(episode, [&](std::vector<WriteColumn>& columns) {
      for (WriteColumn& candidate : columns) {
        if (candidate.name == column) {
          std::get<std::vector<T>>(candidate.values)[element] = value;
        }
      }
    });
  }

  void edit_info(const std::function<void(Json&)>& edit, const std::string& file = "meta/info.json") {
    Json json = Json::read_file(root_ + "/" + file);
    edit(json);
    write_file_atomic(root_ + "/" + file, json.dump(4));
  }

  void replace_text(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_file(root_ + "/" + file);
    const size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos);
    text.replace(place, from.size(), to);
    write_file_atomic(root_ + "/" + file, text);
  }

  std::vector<Finding> check() const {
    return check_dataset(Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}}));
  }

  static std::vector<Finding> of(Severity severity, const std::vector<Finding>& findings) {
    std::vector<Finding> result;
    std::copy_if(findings.begin(), findings.end(), std::back_inserter(result),
                 [&](const Finding& finding) { return finding.severity == severity; });
    return result;
  }

  /// The only error of the dataset.
  Finding only_error() const {
    const auto errors = of(Severity::kError, check());
    EXPECT_EQ(errors.size(), 1u);
    for (size_t i = 1; i < errors.size(); ++i) {
      ADD_FAILURE() << errors[i].code << ": " << errors[i].message << " (" << errors[i].where() << ")";
    }
    return errors.empty() ? Finding{} : errors[0];
  }

  /// The error that opening throws.
  Error open_error() const {
    try {
      Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}});
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorKind::kRuntime, "");
  }

  std::string root_;
};

class IntactDataset : public ::testing::TestWithParam<const char*> {};

TEST_P(IntactDataset, HasNoErrors) {
  const Dataset dataset = Dataset::open({.root = testing::tests_path(std::string("data/datasets/") + GetParam()),
                                         .episodes = {},
                                         .rename_map = {},
                                         .columns = {"*"}});
  for (const Finding& finding : check_dataset(dataset)) {
    EXPECT_EQ(finding.severity, Severity::kWarning)
        << finding.code << ": " << finding.message << ", expected " << finding.expected << ", found " << finding.found
        << " (" << finding.where() << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(Datasets, IntactDataset,
                         ::testing::Values("v21_h264", "v21_av1", "v30_av1", "v30_images", "v30_small", "v30_from_v21"),
                         [](const auto& format) { return std::string(format.param); });

TEST_F(DamagedDataset, NanNamesFeatureEpisodeFrameAndDimension) {
  set(2, "observation.state", 8 * 17 + 3, std::numeric_limits<float>::quiet_NaN());
  const Finding error = only_error();
  EXPECT_EQ(error.code, "not_finite");
  EXPECT_EQ(error.where(), "data/chunk-000/episode_000002.parquet, episode 2, frame 17, feature observation.state");
  EXPECT_THAT(error.message, HasSubstr("dimension 3"));
  EXPECT_EQ(error.found, "nan");
}

TEST_F(DamagedDataset, InfinityInAnActionIsAnError) {
  set(0, "action", 0, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(only_error().feature, "action");
}

TEST_F(DamagedDataset, AnIrregularTimestampIsAnError) {
  set(1, "timestamp", 20, 2.0f + 0.001f);
  const Finding error = only_error();
  EXPECT_EQ(error.code, "timestamp");
  EXPECT_EQ(error.frame, 20);
}

TEST_F(DamagedDataset, AConstantTimestampOffsetIsAWarningAndPicturesStayRight) {
  rewrite(3, [](std::vector<WriteColumn>& columns) {
    for (WriteColumn& column : columns) {
      if (column.name == "timestamp") {
        for (float& time : std::get<std::vector<float>>(column.values)) {
          time += 0.05f;
        }
      }
    }
  });
  EXPECT_THAT(of(Severity::kError, check()), IsEmpty());
  const Dataset dataset = Dataset::open({.root = root_, .episodes = {{3}}, .rename_map = {}, .columns = {}});
  EXPECT_EQ(dataset.picture(0, 7).frame_number, 7);
  EXPECT_NEAR(dataset.picture(0, 7).query_s, 0.7, 1e-6);
  ASSERT_EQ(dataset.findings().size(), 1u);
  EXPECT_EQ(dataset.findings()[0].code, "timestamp_offset");
  EXPECT_EQ(dataset.findings()[0].found, "0.0500000007");
}

TEST_F(DamagedDataset, WrongNumberingIsAnError) {
  set<int64_t>(1, "frame_index", 5, 6);
  EXPECT_EQ(only_error().code, "frame_index");
  copy("v21_h264");
  set<int64_t>(1, "index", 0, 31);
  EXPECT_EQ(only_error().code, "index");
  copy("v21_h264");
  set<int64_t>(1, "episode_index", 44, 2);
  EXPECT_EQ(only_error().code, "episode_index");
}

TEST_F(DamagedDataset, TasksMustExistAndBeListed) {
  set<int64_t>(0, "task_index", 4, 9);
  EXPECT_EQ(only_error().code, "task_index");
  copy("v21_h264");
  set<int64_t>(0, "task_index", 4, 1);
  const Finding error = only_error();
  EXPECT_EQ(error.code, "episode_tasks");
  EXPECT_EQ(error.found, "reach the blue target and close the gripper");
}

TEST_F(DamagedDataset, RowCountsMustFit) {
  replace_text("meta/episodes.jsonl", "\"length\": 60", "\"length\": 61");
  const auto errors = of(Severity::kError, check());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "row_count");
  EXPECT_EQ(errors[0].expected, "61 rows (meta/episodes.jsonl:3)");
  EXPECT_EQ(errors[0].found, "60");
}

TEST_F(DamagedDataset, AMissingColumnNamesThoseThatExist) {
  rewrite(4, [](std::vector<WriteColumn>& columns) {
    std::erase_if(columns, [](const auto& c) { return c.name == "action"; });
  });
  const Error error = open_error();
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_THAT(error.what(), HasSubstr("no column action; the file has observation.state, next.reward"));
  EXPECT_EQ(error.where(), parquet(4));
}

TEST_F(DamagedDataset, AColumnOfAnotherWidthOrTypeIsAnError) {
  edit_info([](Json& info) { info["features"]["action"]["shape"] = Json::Array{8}; });
  EXPECT_THAT(open_error().what(), HasSubstr("action has 7 values a frame, info.json says 8"));
  copy("v21_h264");
  edit_info([](Json& info) { info["features"]["action"]["dtype"] = "float64"; });
  const Finding error = only_error();
  EXPECT_EQ(error.code, "column_type");
  EXPECT_EQ(error.expected, "float64");
}

TEST_F(DamagedDataset, WithoutFrameIndexTheRowNumberCounts) {
  for (int episode = 0; episode < 6; ++episode) {
    rewrite(episode, [](std::vector<WriteColumn>& columns) {
      std::erase_if(columns, [](const auto& c) { return c.name == "frame_index"; });
    });
  }
  EXPECT_THAT(of(Severity::kError, check()), IsEmpty());
  const Dataset dataset = Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}});
  EXPECT_EQ(dataset.frame_id(40).frame_index, 8);
}

TEST_F(DamagedDataset, MissingFilesAreNamed) {
  fs::remove(parquet(3));
  EXPECT_EQ(open_error().where(), parquet(3));
  copy("v21_h264");
  fs::remove(video(2));
  EXPECT_THAT(open_error().what(), HasSubstr("no video of camera observation.images.top for 1 of 6 episodes"));
  EXPECT_EQ(open_error().where(), video(2));
  copy("v21_h264");
  fs::remove(root_ + "/meta/tasks.jsonl");
  EXPECT_EQ(open_error().kind(), ErrorKind::kFile);
  fs::remove(root_ + "/meta/info.json");
  EXPECT_THAT(open_error().what(), HasSubstr("no meta/info.json"));
}

TEST_F(DamagedDataset, ACameraWithoutAnyFileIsLeftOut) {
  fs::remove_all(root_ + "/videos/chunk-000/observation.images.top");
  const auto findings = check();
  EXPECT_THAT(of(Severity::kError, findings), IsEmpty());
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const Finding& finding) { return finding.code == "camera_without_files"; }));
  const Dataset dataset = Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}});
  ASSERT_EQ(dataset.cameras().size(), 1u);
  EXPECT_THAT(*dataset.picture(0, 0).video_path, HasSubstr("observation.images.wrist"));
}

TEST_F(DamagedDataset, PointersInsteadOfFilesAreNamed) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n";
  std::ofstream(video(5)) << pointer;
  EXPECT_THAT(open_error().what(), HasSubstr("Git-LFS pointer"));
  EXPECT_EQ(open_error().where(), video(5));
  copy("v21_h264");
  std::ofstream(parquet(0)) << pointer;
  EXPECT_EQ(open_error().where(), parquet(0));
}

TEST_F(DamagedDataset, ATruncatedVideoIsAnError) {
  fs::resize_file(video(1), fs::file_size(video(1)) - 100);
  const Finding error = only_error();
  EXPECT_EQ(error.file, "videos/chunk-000/observation.images.top/episode_000001.mp4");
  EXPECT_EQ(error.code, "video_truncated");
}

TEST_F(DamagedDataset, AVideoOfAnotherEpisodeIsTooShort) {
  fs::copy_file(video(3), video(2), fs::copy_options::overwrite_existing);  // 25 frames for 60 rows
  const Finding error = only_error();
  EXPECT_EQ(error.code, "video_too_short");
  EXPECT_EQ(error.expected, "60 frames");
  EXPECT_EQ(error.found, "25");
}

TEST_F(DamagedDataset, AVideoOfAnotherSizeIsAnError) {
  std::string wrist = video(0);
  wrist.replace(wrist.find("images.top"), 10, "images.wrist");
  fs::copy_file(wrist, video(0), fs::copy_options::overwrite_existing);
  EXPECT_EQ(only_error().code, "video_size");
}

TEST_F(DamagedDataset, StatisticsOfOtherDataAreAnError) {
  copy("v30_from_v21");
  edit_info([](Json& stats) { stats["action"]["mean"].as_array()[2] = 0.9; }, "meta/stats.json");
  const Finding error = only_error();
  EXPECT_EQ(error.code, "stats_mismatch");
  EXPECT_THAT(error.message, HasSubstr("mean of dimension 2"));
  edit_info(
      [](Json& stats) {
        for (const auto* stat : {"min", "max", "mean", "std"}) {
          stats["action"][stat].as_array().pop_back();
        }
      },
      "meta/stats.json");
  EXPECT_EQ(only_error().code, "stats_shape");
  fs::remove(root_ + "/meta/stats.json");
  EXPECT_THAT(of(Severity::kError, check()), IsEmpty());
}

TEST_F(DamagedDataset, TotalsAndSplitsAreOnlyWarnings) {
  edit_info([](Json& info) {
    info["total_frames"] = 999;
    info["splits"]["train"] = "0:100";
    info["fps"] = 10.0;
  });
  const auto findings = check();
  EXPECT_THAT(of(Severity::kError, findings), IsEmpty());
  for (const auto* code : {"totals", "splits", "float_fps"}) {
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; }))
        << code;
  }
}

TEST_F(DamagedDataset, InfoBesideMetaIsRead) {
  fs::rename(root_ + "/meta/info.json", root_ + "/info.json");
  EXPECT_EQ(Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}}).num_frames(), 251);
}

TEST_F(DamagedDataset, ConstantAndHugeDimensionsAreWarnings) {
  for (int episode = 0; episode < 6; ++episode) {
    rewrite(episode, [](std::vector<WriteColumn>& columns) {
      for (WriteColumn& column : columns) {
        if (column.name == "action") {
          auto& values = std::get<std::vector<float>>(column.values);
          for (size_t i = 0; i < values.size(); i += 7) {
            values[i] = 0.25f;
            values[i + 1] = 2e6f + values[i + 1];
          }
        }
      }
    });
  }
  fs::remove(root_ + "/meta/episodes_stats.jsonl");
  const auto findings = check();
  EXPECT_THAT(of(Severity::kError, findings), IsEmpty());
  const auto message = [&](const std::string& code) {
    for (const Finding& finding : findings) {
      if (finding.code == code) {
        return finding.message;
      }
    }
    return std::string();
  };
  EXPECT_EQ(message("constant_dimension"), "dimensions that never change: 0, 4");
  EXPECT_EQ(message("huge_value"), "dimensions with values beyond a million: 1");
}

TEST_F(DamagedDataset, BrokenLinesAndDuplicatesAreNamed) {
  replace_text("meta/episodes.jsonl", "{\"episode_index\": 2", "{\"episode_index\": 1");
  EXPECT_THAT(open_error().what(), HasSubstr("episode_index 1 appears twice"));
  replace_text("meta/episodes.jsonl", "{\"episode_index\": 0", "{\"episode_index\" 0");
  EXPECT_THAT(open_error().where(), HasSubstr("meta/episodes.jsonl:1"));
}

TEST_F(DamagedDataset, CarriageReturnsAndBlankLinesAreAccepted) {
  std::string text = read_file(root_ + "/meta/episodes.jsonl"), changed;
  for (const char c : text) {
    changed += c == '\n' ? "\r\n\r\n" : std::string(1, c);
  }
  while (!changed.empty() && std::isspace(static_cast<unsigned char>(changed.back()))) {
    changed.pop_back();
  }
  write_file_atomic(root_ + "/meta/episodes.jsonl", changed);
  EXPECT_THAT(of(Severity::kError, check()), IsEmpty());
}

TEST_F(DamagedDataset, UnsupportedVersionsAndBadDescriptionsAreErrors) {
  const auto error_after = [&](const std::function<void(Json&)>& edit) {
    copy("v21_h264");
    edit_info(edit);
    return std::string(open_error().what());
  };
  EXPECT_THAT(error_after([](Json& info) { info["codebase_version"] = "v1.6"; }),
              HasSubstr("expected v2.0, v2.1 or v3.0"));
  EXPECT_THAT(error_after([](Json& info) { info["fps"] = 0; }), HasSubstr("fps is 0"));
  EXPECT_THAT(error_after([](Json& info) { info["data_path"] = "data/{episode}.parquet"; }),
              HasSubstr("unknown field {episode}"));
  EXPECT_THAT(error_after([](Json& info) { info["features"]["action"]["dtype"] = "quaternion"; }),
              HasSubstr("unknown dtype"));
  EXPECT_THAT(error_after([](Json& info) { info["chunks_size"] = 0; }), HasSubstr("chunks_size is 0"));
  EXPECT_THAT(error_after([](Json& info) { info["features"]["action"]["shape"] = Json::Array{1 << 30, 1 << 30}; }),
              HasSubstr("too large for a frame"));
  EXPECT_THAT(error_after([](Json& info) { info["features"]["action"]["shape"] = Json::Array{1.5}; }),
              HasSubstr("feature action has shape [1.5], expected positive whole numbers"));
  EXPECT_THAT(error_after([](Json& info) { info["total_frames"] = 1.5; }),
              HasSubstr("total_frames is 1.5, expected a whole number"));
  EXPECT_THAT(error_after([](Json& info) { info["chunks_size"] = 1e30; }), HasSubstr("chunks_size is 1e+30"));
  EXPECT_THAT(error_after([](Json& info) { info.erase("features"); }), HasSubstr("no features in info.json"));
}

TEST_F(DamagedDataset, RowsInAnotherFileAreFoundAndReported) {
  copy("v30_small");
  const std::string episodes = root_ + "/meta/episodes/chunk-000/file-000.parquet";
  std::vector<WriteColumn> columns;
  {
    const auto reader = table::ParquetReader::open(episodes);
    for (const table::ColumnInfo& info : reader.columns()) {
      if (info.name.starts_with("stats/")) {
        continue;
      }
      WriteColumn write{info.name, Layout::kScalar, 1, {}};
      if (info.name == "tasks") {
        write.values = reader.read_text_lists(info.name);
      } else {
        auto column = reader.read_numeric(info.name);
        std::visit([&](auto& values) { write.values = std::move(values); }, column.values);
      }
      if (info.name == "data/file_index") {
        std::get<std::vector<int64_t>>(write.values)[5] = 0;  // its rows are in file 1
      }
      columns.push_back(std::move(write));
    }
  }
  table::write_parquet(episodes, columns);
  const Finding error = only_error();
  EXPECT_EQ(error.code, "rows_displaced");
  EXPECT_EQ(error.episode, 5);
  EXPECT_EQ(error.found, "data/chunk-000/file-001.parquet");
  const Dataset dataset = Dataset::open({.root = root_, .episodes = {}, .rename_map = {}, .columns = {}});
  EXPECT_EQ(dataset.num_frames(), 251);
  EXPECT_EQ(dataset.value("index", 250), 250);
}

TEST(Findings, AreReportedTogether) {
  std::vector<Finding> findings = {
      {.code = "a", .severity = Severity::kError, .file = "x", .message = "first"},
      {.code = "b", .severity = Severity::kError, .file = "y", .expected = "1", .found = "2", .message = "second"}};
  try {
    report_findings(findings);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "the dataset has 2 errors:\n  first (x)\n  second: expected 1, found 2 (y)");
  }
  findings.pop_back();
  try {
    report_findings(findings, "/data/koch");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "/data/koch/x");
  }
  findings[0].severity = Severity::kWarning;
  EXPECT_NO_THROW(report_findings(findings));
  EXPECT_EQ(to_json(findings[0]).dump(),
            R"({"code": "a", "severity": "warning", "file": "x", "episode": null, "frame": null, "feature": null, )"
            R"("expected": null, "found": null, "message": "first", "hint": null})");
}

}  // namespace
}  // namespace flexor::data
