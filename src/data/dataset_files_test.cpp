// Tests of the small readers that a dataset is opened with.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/image_store.h"
#include "data/jsonl.h"
#include "data/path_template.h"
#include "table/parquet_writer.h"
#include "testing/error_text.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using flexor::testing::error_text;
using table::Layout;
using ::testing::HasSubstr;

class ScratchFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ + "/meta");
  }
  void TearDown() override { fs::remove_all(root_); }
  const std::string root_ = ::testing::TempDir() + "dataset_files_test";
};

TEST(PathTemplate, FillsNamesAndWidths) {
  const auto fill = [](std::string_view text) {
    return fill_template(text, {{"n", int64_t{42}}, {"video_key", std::string("observation.images.top")}}, "info.json");
  };
  EXPECT_EQ(fill("data/chunk-{n:03d}/file-{n:06d}.parquet"), "data/chunk-042/file-000042.parquet");
  EXPECT_EQ(fill("{video_key}/{n}/{n:d}/{n:01d}"), "observation.images.top/42/42/42");
  EXPECT_EQ(fill("a{{b}}c"), "a{b}c");
}

TEST(PathTemplate, RefusesWhatItDoesNotKnow) {
  const auto message = [](std::string_view text) {
    return error_text([&] { fill_template(text, {{"n", int64_t{1}}}, "info.json"); });
  };
  EXPECT_THAT(message("{m}"), HasSubstr("unknown field {m} (known: n)"));
  EXPECT_THAT(message("{n:x}"), HasSubstr("format \":x\""));
  EXPECT_THAT(message("{n:99999d}"), HasSubstr("format"));
  EXPECT_THAT(message("a{n"), HasSubstr("lone brace at character 1"));
  EXPECT_THAT(message("n}"), HasSubstr("lone brace at character 1"));
}

TEST(FrameRate, IsTheFractionOfTheDecimalText) {
  const auto rate = [](double fps) { return frame_rate_from_double(fps, "info.json"); };
  EXPECT_EQ(rate(30), (FrameRate{30, 1}));
  EXPECT_EQ(rate(20.0), (FrameRate{20, 1}));
  EXPECT_EQ(rate(29.97), (FrameRate{2997, 100}));
  EXPECT_EQ(rate(12.5), (FrameRate{25, 2}));
  EXPECT_EQ(rate(0.5), (FrameRate{1, 2}));
  EXPECT_NEAR(rate(30000.0 / 1001).value(), 30000.0 / 1001, 1e-12);
  for (const double bad : {0.0, -1.0, 1e7}) {
    EXPECT_THAT(error_text([&] { rate(bad); }), HasSubstr("expected a positive number"));
  }
}

TEST_F(ScratchFolder, TasksAreFoundInEitherColumn) {
  DatasetInfo info;
  info.root = root_;
  info.major = 3;
  for (const auto& [column, metadata] : {std::pair<std::string, std::string>{"task", ""},
                                         {"__index_level_0__", ""},
                                         {"words", R"({"index_columns": ["words"], "columns": []})"}}) {
    table::write_parquet(root_ + "/meta/tasks.parquet",
                         {{"task_index", Layout::kScalar, 1, std::vector<int64_t>{0, 1}},
                          {column, Layout::kScalar, 1, std::vector<std::string>{"pick", "place"}}},
                         metadata.empty() ? std::map<std::string, std::string>{}
                                          : std::map<std::string, std::string>{{"pandas", metadata}});
    std::vector<Finding> findings;
    const TaskTable tasks = read_tasks(info, findings);
    EXPECT_EQ(tasks.at(1), "place") << column;
    EXPECT_TRUE(findings.empty());
  }
}

TEST_F(ScratchFolder, TasksAreMatchedByNumberNotByRow) {
  DatasetInfo info;
  info.root = root_;
  info.major = 3;
  table::write_parquet(root_ + "/meta/tasks.parquet",
                       {{"task_index", Layout::kScalar, 1, std::vector<int64_t>{1, 0}},
                        {"task", Layout::kScalar, 1, std::vector<std::string>{"place", "pick"}}});
  std::vector<Finding> findings;
  EXPECT_EQ(read_tasks(info, findings).at(1), "place");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "task_order");
}

TEST_F(ScratchFolder, JsonLinesNameTheLine) {
  const std::string path = root_ + "/x.jsonl";
  write_file_atomic(path, "{\"a\": 1}\r\n\n  \n{\"a\": \"\\u00fc\"}");
  const auto lines = read_jsonl(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].line, 4);
  EXPECT_EQ(lines[1].json.at("a").as_string(), "ü");
  write_file_atomic(path, "{}\n[1]\n");
  try {
    read_jsonl(path);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), path + ":2");
  }
}

TEST_F(ScratchFolder, ImagesAreReadAcrossRowGroupsAndFromFiles) {
  const std::string path = root_ + "/images.parquet";
  {
    table::ParquetWriter writer(path);
    for (int group = 0; group < 3; ++group) {
      std::vector<table::ImageCell> cells;
      for (int i = 0; i < 2; ++i) {
        cells.push_back({"image " + std::to_string(2 * group + i), ""});
      }
      writer.write_row_group({{"top", Layout::kScalar, 1, cells}});
    }
    writer.write_row_group({{"top", Layout::kScalar, 1, std::vector<table::ImageCell>{{"", "images/seven.png"}}}});
    writer.close();
  }
  write_file_atomic(root_ + "/images/seven.png", "from a file");
  ImageStore store(root_, /*cache_bytes=*/20);  // two groups of two 7-byte images do not fit
  for (int round = 0; round < 2; ++round) {
    for (int row = 0; row < 6; ++row) {
      EXPECT_EQ(*store.get(path, "top", row), "image " + std::to_string(row));
    }
  }
  EXPECT_EQ(*store.get(path, "top", 6), "from a file");
  EXPECT_THAT(error_text([&] { store.get(path, "top", 7); }), HasSubstr("row 7 wanted, the file has 7"));
  EXPECT_THAT(error_text([&] { store.get(path, "wrist", 0); }), HasSubstr("no column wrist; the file has top"));
}

}  // namespace
}  // namespace flexor::data
