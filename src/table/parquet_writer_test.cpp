#include "table/parquet_writer.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ParquetWriterTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + "parquet_writer_test";
  std::string path_ = folder_ + "/data/file.parquet";
};

TEST_F(ParquetWriterTest, ReadsBackWhatItWrote) {
  const std::vector<float> vectors = {1, 2, 3, 4, 5, 6};
  write_parquet(
      path_,
      {{"f32", Layout::kFixedList, 3, vectors},
       {"list", Layout::kList, 3, vectors},
       {"f64", Layout::kScalar, 1, std::vector<double>{0.1, 1e300}},
       {"i64", Layout::kScalar, 1, std::vector<int64_t>{-1, INT64_MAX}},
       {"bool", Layout::kScalar, 1, std::vector<uint8_t>{0, 1}},
       {"text", Layout::kScalar, 1, std::vector<std::string>{"", "ü"}},
       {"texts", Layout::kList, 1, WriteColumn::TextLists{{"a", "b"}, {}}},
       {"image", Layout::kScalar, 1, std::vector<ImageCell>{{std::string("\0png", 4), "a.png"}, {"jpg", ""}}}},
      {{"note", "hello"}});
  const auto reader = ParquetReader::open(path_);
  EXPECT_EQ(reader.num_rows(), 2);
  EXPECT_EQ(reader.num_row_groups(), 1);
  EXPECT_EQ(reader.metadata("note"), "hello");
  EXPECT_EQ(reader.metadata("other"), "");
  EXPECT_EQ(reader.column("f32").fixed_width, 3);
  EXPECT_EQ(reader.column("list").fixed_width, std::nullopt);
  EXPECT_EQ(std::get<std::vector<float>>(reader.read_numeric("f32").values), vectors);
  EXPECT_EQ(std::get<std::vector<float>>(reader.read_numeric("list").values), vectors);
  EXPECT_THAT(std::get<std::vector<double>>(reader.read_numeric("f64").values), ElementsAre(0.1, 1e300));
  EXPECT_THAT(std::get<std::vector<int64_t>>(reader.read_numeric("i64").values), ElementsAre(-1, INT64_MAX));
  EXPECT_THAT(std::get<std::vector<uint8_t>>(reader.read_numeric("bool").values), ElementsAre(0, 1));
  EXPECT_THAT(reader.read_texts("text"), ElementsAre("", "ü"));
  EXPECT_THAT(reader.read_text_lists("texts"), ElementsAre(ElementsAre("a", "b"), ElementsAre()));
  EXPECT_EQ(reader.read_images("image")[0].bytes, std::string("\0png", 4));
  EXPECT_EQ(reader.read_images("image")[1].path, "");
}

TEST_F(ParquetWriterTest, EachCallIsARowGroup) {
  {
    ParquetWriter writer(path_);
    writer.write_row_group({{"x", Layout::kScalar, 1, std::vector<int64_t>{1, 2}}});
    writer.write_row_group({{"x", Layout::kScalar, 1, std::vector<int64_t>{3}}});
    EXPECT_FALSE(std::filesystem::exists(path_));
    writer.close();
  }
  const auto reader = ParquetReader::open(path_);
  EXPECT_EQ(reader.num_row_groups(), 2);
  EXPECT_THAT(std::get<std::vector<int64_t>>(reader.read_numeric("x").values), ElementsAre(1, 2, 3));
}

TEST_F(ParquetWriterTest, AnUnfinishedFileLeavesNothingBehind) {
  std::filesystem::create_directories(folder_ + "/data");
  {
    ParquetWriter writer(path_);
    writer.write_row_group({{"x", Layout::kScalar, 1, std::vector<int64_t>{1}}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/data"));
}

TEST_F(ParquetWriterTest, RefusesColumnsThatDoNotFit) {
  const auto message = [&](const std::vector<WriteColumn>& columns) -> std::string {
    try {
      write_parquet(path_, columns);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({{"a", Layout::kScalar, 1, std::vector<int64_t>{1, 2}},
                       {"b", Layout::kScalar, 1, std::vector<int64_t>{1}}}),
              HasSubstr("column b has 1 rows, column a has 2"));
  EXPECT_THAT(message({{"a", Layout::kFixedList, 2, std::vector<float>{1, 2, 3}}}),
              HasSubstr("3 values are not rows of 2"));
  ParquetWriter writer(path_);
  writer.write_row_group({{"x", Layout::kScalar, 1, std::vector<int64_t>{1}}});
  EXPECT_THROW(writer.write_row_group({{"x", Layout::kScalar, 1, std::vector<double>{1}}}), Error);
}

TEST_F(ParquetWriterTest, AnUnwritablePlaceIsAFileError) {
  try {
    ParquetWriter writer("/proc/no/such/file.parquet");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
  }
}

}  // namespace
}  // namespace flexor::table
