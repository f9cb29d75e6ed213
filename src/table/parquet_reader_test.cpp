#include "table/parquet_reader.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace flexor::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kLayouts = FLEXOR_TESTS_DIR "/data/table/layouts.parquet";
const std::string kRowGroups = FLEXOR_TESTS_DIR "/data/table/row_groups.parquet";

template <typename T>
const std::vector<T>& values(const NumericColumn& column) {
  return std::get<std::vector<T>>(column.values);
}

/// The error that `body` throws; a test failure if it throws none.
template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kRuntime, "");
}

class ScratchFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = ::testing::TempDir() + "parquet_reader_test.parquet";
};
using BrokenFile = ScratchFile;

TEST(ParquetReader, PiecesOfAColumnMakeTheWhole) {
  for (const std::string& path : {kLayouts, kRowGroups}) {
    const auto reader = ParquetReader::open(path);
    for (const ColumnInfo& column : reader.columns()) {
      const bool is_numeric = column.kind == ValueKind::kFloat32 || column.kind == ValueKind::kInt;
      if (!is_numeric || column.name == "ragged" || column.name.starts_with("null_")) {
        continue;
      }
      const NumericColumn whole = reader.read_numeric(column.name);
      int64_t rows = 0;
      reader.for_each_piece(column.name, [&](int64_t first_row, const NumericColumn& piece) {
        EXPECT_EQ(first_row, rows);
        ASSERT_EQ(piece.width, whole.width);
        for (int64_t row = 0; row < piece.rows; ++row) {
          for (int64_t d = 0; d < whole.width; ++d) {
            EXPECT_EQ(piece.at(row, d), whole.at(first_row + row, d)) << column.name;
          }
        }
        rows += piece.rows;
      });
      EXPECT_EQ(rows, whole.rows) << column.name;
    }
  }
}

TEST(ParquetReader, ReadsScalarsOfEveryType) {
  const auto reader = ParquetReader::open(kLayouts);
  EXPECT_THAT(values<float>(reader.read_numeric("scalar_f32")), ElementsAre(0.5f, 1.5f, 2.5f, 3.5f));
  EXPECT_THAT(values<double>(reader.read_numeric("scalar_f64")), ElementsAre(0.1, 0.2, 0.3, 0.4));
  EXPECT_THAT(values<float>(reader.read_numeric("half")), ElementsAre(0.5f, -1.0f, 2.0f, 65504.0f));
  EXPECT_THAT(values<uint8_t>(reader.read_numeric("bool")), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(values<int64_t>(reader.read_numeric("int8")), ElementsAre(-128, 0, 1, 127));
  EXPECT_THAT(values<int64_t>(reader.read_numeric("uint64")), ElementsAre(0, 1, 2, INT64_MAX));
}

TEST(ParquetReader, AnIntegerBeyond64SignedBitsIsNamedWithItsRow) {
  const auto reader = ParquetReader::open(FLEXOR_TESTS_DIR "/data/table/too_large.parquet");
  const Error error = error_of([&] { reader.read_numeric("pairs"); });
  EXPECT_THAT(error.what(), HasSubstr("9223372036854775808 is beyond 64 signed bits"));
  EXPECT_THAT(format_error(error), HasSubstr("row 4"));
}

TEST(ParquetReader, ListsOfEveryKindGiveTheSameRows) {
  const auto reader = ParquetReader::open(kLayouts);
  const NumericColumn fixed = reader.read_numeric("fixed_f32");
  EXPECT_EQ(fixed.rows, 4);
  EXPECT_EQ(fixed.width, 3);
  EXPECT_THAT(values<float>(fixed), ElementsAre(0, 0.25f, 0.5f, 1, 1.25f, 1.5f, 2, 2.25f, 2.5f, 3, 3.25f, 3.5f));
  EXPECT_EQ(values<float>(reader.read_numeric("list_f32")), values<float>(fixed));
  const auto wide = reader.read_numeric("large_list_f64");
  EXPECT_TRUE(std::equal(values<double>(wide).begin(), values<double>(wide).end(), values<float>(fixed).begin()));
  const auto single = reader.read_numeric("list_of_one");
  EXPECT_EQ(single.width, 1);
  EXPECT_THAT(values<int64_t>(single), ElementsAre(0, 1, 2, 3));
}

TEST(ParquetReader, NestedListsAndExtensionTypesAreFlattened) {
  const auto reader = ParquetReader::open(kLayouts);
  const auto nested = reader.read_numeric("nested");
  EXPECT_EQ(nested.width, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(nested.at(2, 3)), 2.75f);
  EXPECT_EQ(values<float>(reader.read_numeric("array2d")), values<float>(nested));
}

TEST(ParquetReader, ReadsTexts) {
  const auto reader = ParquetReader::open(kLayouts);
  EXPECT_THAT(reader.read_texts("string"), ElementsAre("a", "", "ü", "long text"));
  EXPECT_THAT(reader.read_texts("large_string"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(reader.read_texts("dictionary"), ElementsAre("x", "y", "x", "y"));
  EXPECT_THAT(reader.read_text_lists("texts"),
              ElementsAre(ElementsAre("a"), ElementsAre(), ElementsAre("b", "c"), ElementsAre("d")));
}

TEST(ParquetReader, ReadsImagesAndRaggedLists) {
  const auto reader = ParquetReader::open(kLayouts);
  const auto images = reader.read_images("image");
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[2].bytes, std::string("\x01\x02\x02"));
  EXPECT_EQ(images[2].path, "frame_2.png");
  EXPECT_EQ(images[3].bytes, "");
  EXPECT_EQ(images[3].path, "images/last.png");
  EXPECT_EQ(reader.read_images("raw_image")[1].bytes, "\x02");
  EXPECT_THAT(reader.read_ragged("ragged"),
              ElementsAre(ElementsAre(1), ElementsAre(1, 2), ElementsAre(), ElementsAre(3, 4, 5)));
}

TEST(ParquetReader, DescribesColumns) {
  const auto reader = ParquetReader::open(kLayouts);
  const auto expect = [&](std::string_view name, ValueKind kind, int depth, std::optional<int64_t> width) {
    const ColumnInfo& column = reader.column(name);
    EXPECT_EQ(column.kind, kind) << name;
    EXPECT_EQ(column.depth, depth) << name;
    EXPECT_EQ(column.fixed_width, width) << name;
  };
  expect("scalar_f32", ValueKind::kFloat32, 0, 1);
  expect("fixed_f32", ValueKind::kFloat32, 1, 3);
  expect("list_f32", ValueKind::kFloat32, 1, std::nullopt);
  expect("array2d", ValueKind::kFloat32, 2, std::nullopt);
  expect("dictionary", ValueKind::kText, 0, 1);
  expect("image", ValueKind::kImage, 0, 1);
  expect("raw_image", ValueKind::kImage, 0, 1);
  expect("time", ValueKind::kOther, 0, 1);
}

TEST(ParquetReader, ReadsSelectedRowGroups) {
  const auto reader = ParquetReader::open(kRowGroups);
  ASSERT_EQ(reader.num_row_groups(), 2);
  EXPECT_EQ(reader.row_group_rows(0), 3);
  EXPECT_THAT(values<float>(reader.read_numeric("scalar_f32", 1, 2)), ElementsAre(3.5f));
  EXPECT_THAT(values<float>(reader.read_numeric("fixed_f32", 1, 2)), ElementsAre(3, 3.25f, 3.5f));
  EXPECT_THAT(reader.read_texts("string", 0, 1), ElementsAre("a", "", "ü"));
  EXPECT_EQ(reader.read_numeric("scalar_f32").rows, 4);
  EXPECT_THAT(error_of([&] { reader.read_numeric("scalar_f32", 1, 3); }).what(), HasSubstr("the file has 2"));
}

TEST(ParquetReader, NullsAndRaggedRowsNameTheRow) {
  const auto reader = ParquetReader::open(kLayouts);
  const auto expect = [&](const char* column, const char* where, const char* what) {
    const Error error = error_of([&] { reader.read_numeric(column); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.where(), HasSubstr(where)) << column;
    EXPECT_THAT(error.what(), HasSubstr(what)) << column;
  };
  expect("null_number", "layouts.parquet, row 1", "column null_number: null");
  expect("null_list", "row 2", "null where a list is expected");
  expect("null_inside", "row 2", "null where a number is expected");
  expect("ragged", "row 1", "2 values, the rows before have 1");
  EXPECT_THAT(error_of([&] { reader.read_texts("null_text"); }).where(), HasSubstr("row 1"));
}

TEST(ParquetReader, WrongTypeSaysBothTypes) {
  const auto reader = ParquetReader::open(kLayouts);
  EXPECT_THAT(error_of([&] { reader.read_numeric("string"); }).what(), HasSubstr("has type string, expected numbers"));
  EXPECT_THAT(error_of([&] { reader.read_texts("int8"); }).what(), HasSubstr("has type int8, expected text"));
  EXPECT_THAT(error_of([&] { reader.read_images("bool"); }).what(), HasSubstr("expected struct<bytes"));
  EXPECT_THAT(error_of([&] { reader.read_numeric("time"); }).what(), HasSubstr("expected numbers"));
}

TEST(ParquetReader, MissingColumnNamesThoseThatExist) {
  const auto reader = ParquetReader::open(kRowGroups);
  EXPECT_EQ(reader.find("action"), nullptr);
  for (const Error& error :
       {error_of([&] { reader.read_numeric("action"); }), error_of([&] { reader.column("action"); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "no column action; the file has scalar_f32, fixed_f32, string");
    EXPECT_EQ(error.where(), kRowGroups);
  }
}

TEST_F(BrokenFile, EveryTruncationIsAnError) {
  const std::string whole = read_file(kRowGroups);
  for (const size_t size : {size_t{0}, size_t{3}, size_t{12}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    const Error error = error_of([&] { ParquetReader::open(path_); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << size;
    EXPECT_EQ(error.where(), path_);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST_F(BrokenFile, DamagedPagesAreAnErrorOrOtherValuesButNeverACrash) {
  const std::string whole = read_file(kRowGroups);
  int errors = 0;
  for (size_t place = 4; place + 8 < whole.size(); place += 7) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x5a);
    std::ofstream(path_, std::ios::binary) << damaged;
    try {
      const auto reader = ParquetReader::open(path_);
      for (const ColumnInfo& column : reader.columns()) {
        column.kind == ValueKind::kText ? (void)reader.read_texts(column.name) : (void)reader.read_numeric(column.name);
      }
    } catch (const Error& error) {
      errors += error.kind() == ErrorKind::kData;
      for (const char* inside : {"thrift", "base64", "flatbuffers"}) {
        EXPECT_EQ(std::string(error.what()).find(inside), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_GT(errors, 0);
}

TEST_F(BrokenFile, MissingFilesAndPointersAreNamed) {
  EXPECT_EQ(error_of([&] { ParquetReader::open(path_); }).kind(), ErrorKind::kFile);
  std::ofstream(path_) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n";
  EXPECT_THAT(error_of([&] { ParquetReader::open(path_); }).what(), HasSubstr("Git-LFS pointer"));
}

}  // namespace
}  // namespace flexor::table
