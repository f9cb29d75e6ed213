#include "table/row_copy.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "table/parquet_writer.h"

namespace flexor::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Form = RowColumn::Form;

class RowCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "row_copy_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  /// Rows 0..count-1 in row groups of `group`: x = {row, row + 0.5}, n = row, text.
  void write_numbered(const std::string& name, int64_t count, int64_t group, Layout layout = Layout::kList) const {
    ParquetWriter writer(path(name));
    for (int64_t first = 0; first < count; first += group) {
      std::vector<float> x;
      std::vector<int64_t> n;
      std::vector<std::string> texts;
      for (int64_t row = first; row < std::min(first + group, count); ++row) {
        x.push_back(static_cast<float>(row));
        x.push_back(static_cast<float>(row) + 0.5F);
        n.push_back(row);
        texts.push_back("row " + std::to_string(row));
      }
      writer.write_row_group({{"x", layout, 2, x}, {"n", Layout::kScalar, 1, n}, {"text", Layout::kScalar, 1, texts}});
    }
    writer.close();
  }

  const std::vector<RowColumn> columns_ = {
      {"x", Form::kNumbers, "float32", 2}, {"n", Form::kNumbers, "int64", 1}, {"text", Form::kText}};
  std::string folder_;
};

TEST_F(RowCopyTest, AnyRangeOfRowsComesFromAnyRowGroups) {
  write_numbered("a.parquet", 50000, 7000);
  RowReader reader(path("a.parquet"));
  EXPECT_EQ(reader.num_rows(), 50000);
  for (const auto& [first, count] : {std::pair{0, 1}, {6999, 2}, {20000, 20000}, {49999, 1}, {5, 10}, {30000, 0}}) {
    const Rows rows = reader.read(first, count);
    const std::vector<int64_t> n = rows.integers("n");
    ASSERT_EQ(n.size(), static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(n[static_cast<size_t>(i)], first + i);
    }
  }
  EXPECT_THROW(reader.read(49999, 2), Error);
}

TEST_F(RowCopyTest, WritesOneRowGroupACallWithFixedSizeLists) {
  write_numbered("list.parquet", 10, 10, Layout::kList);
  write_numbered("fixed.parquet", 4, 4, Layout::kFixedList);
  {
    RowWriter writer(path("out.parquet"), columns_, {{"key", "value"}});
    writer.write(RowReader(path("list.parquet")).read(2, 3));
    writer.write(RowReader(path("fixed.parquet")).read(0, 4));
    writer.close();
  }
  const auto out = ParquetReader::open(path("out.parquet"));
  EXPECT_EQ(out.num_row_groups(), 2);
  EXPECT_EQ(out.row_group_rows(0), 3);
  EXPECT_EQ(out.column("x").type_text, "fixed_size_list<element: float>[2]");
  EXPECT_EQ(out.metadata("key"), "value");
  EXPECT_THAT(std::get<std::vector<float>>(out.read_numeric("x").values),
              ElementsAre(2, 2.5, 3, 3.5, 4, 4.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5));
  EXPECT_THAT(out.read_texts("text"), ElementsAre("row 2", "row 3", "row 4", "row 0", "row 1", "row 2", "row 3"));
}

TEST_F(RowCopyTest, ReplacesAndAddsColumnsAndKeepsRows) {
  write_numbered("a.parquet", 5, 5);
  Rows rows = RowReader(path("a.parquet")).read(0, 5);
  const Rows before = rows;
  rows.set("n", std::vector<int64_t>{9, 8, 7, 6, 5});
  rows.set("new", std::vector<double>{0, 1, 2, 3, 4});
  EXPECT_THAT(before.integers("n"), ElementsAre(0, 1, 2, 3, 4));  // copies do not change
  const Rows kept = rows.filter({true, false, false, true, true});
  EXPECT_THAT(kept.integers("n"), ElementsAre(9, 6, 5));
  EXPECT_THAT(kept.numbers("new"), ElementsAre(0, 3, 4));
  EXPECT_EQ(rows.filter({false, false, false, false, false}).num_rows(), 0);
}

TEST_F(RowCopyTest, AListOfAnotherLengthNamesItsRow) {
  ParquetWriter writer(path("ragged.parquet"));
  WriteColumn ragged{.name = "x", .layout = Layout::kNested, .nesting = {2}, .present = {1, 0, 1}};
  ragged.values = std::vector<float>{1, 2, 3, 4};
  writer.write_row_group({ragged});
  writer.close();
  RowWriter out(path("out.parquet"), {{"x", Form::kNumbers, "float32", 2}});
  try {
    out.write(RowReader(path("ragged.parquet")).read(0, 3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("column x: null where a list is expected"));
    EXPECT_THAT(error.where(), HasSubstr("ragged.parquet, row 1"));
  }
  RowWriter wide(path("out2.parquet"), {{"x", Form::kNumbers, "float32", 3}});
  try {
    wide.write(RowReader(path("ragged.parquet")).read(0, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 values, info.json says 3"));
  }
}

TEST_F(RowCopyTest, AMissingColumnIsAnError) {
  write_numbered("a.parquet", 3, 3);
  RowWriter out(path("out.parquet"), {{"y", Form::kNumbers, "float32", 2}});
  EXPECT_THROW(out.write(RowReader(path("a.parquet")).read(0, 3)), Error);
}

TEST_F(RowCopyTest, ImagesThatAreOnlyNamedAreRead) {
  std::ofstream(path("b.png")) << "bytes of b";
  write_parquet(path("images.parquet"),
                {{"cam", Layout::kScalar, 1, std::vector<ImageCell>{{"inline", "a.png"}, {"", "b.png"}}}});
  Rows rows = RowReader(path("images.parquet")).read(0, 2);
  rows.embed_images("cam", folder_);
  {
    RowWriter out(path("out.parquet"), {{"cam", Form::kImage}});
    out.write(rows);
    out.close();
  }
  const auto images = ParquetReader::open(path("out.parquet")).read_images("cam");
  EXPECT_EQ(images[0].bytes, "inline");
  EXPECT_EQ(images[1].bytes, "bytes of b");
  EXPECT_EQ(images[1].path, "b.png");
}

TEST_F(RowCopyTest, NestedListsWithNullsReadBackAsNumberLists) {
  WriteColumn image{.name = "stats/cam/min", .layout = Layout::kNested, .nesting = {3, 1, 1}, .present = {1, 0, 1}};
  image.values = std::vector<double>{1, 2, 3, 4, 5, 6};
  WriteColumn flags{.name = "stats/done/max", .layout = Layout::kNested, .nesting = {1}};
  flags.values = std::vector<uint8_t>{0, 1, 1};
  WriteColumn scalar{.name = "note", .present = {0, 1, 1}};
  scalar.values = std::vector<std::string>{"", "b", "c"};
  write_parquet(path("stats.parquet"), {image, flags, scalar});
  const Rows rows = RowReader(path("stats.parquet")).read(0, 3);
  EXPECT_EQ(rows.info("stats/cam/min").depth, 3);
  const NumberLists lists = rows.number_lists("stats/cam/min");
  EXPECT_THAT(lists.values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(lists.ends, ElementsAre(3, 3, 6));
  EXPECT_THAT(rows.number_lists("stats/done/max").values, ElementsAre(0, 1, 1));
  EXPECT_THROW(rows.texts("note"), Error);  // a null
  EXPECT_THAT(rows.present("note"), ElementsAre(false, true, true));
  EXPECT_THAT(rows.filter(rows.present("note")).texts("note"), ElementsAre("b", "c"));
  EXPECT_THAT(RowReader(path("stats.parquet")).read(1, 2).number_lists("stats/cam/min").ends, ElementsAre(0, 3));
}

}  // namespace
}  // namespace flexor::table
