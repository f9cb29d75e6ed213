#include "data/column_summary.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace flexor::data {
namespace {

Column wave(int64_t rows, double offset) {
  std::vector<double> values;
  for (int64_t row = 0; row < rows; ++row) {
    values.push_back(offset + std::sin(0.1 * static_cast<double>(row)));
    values.push_back(-3.0);
  }
  return {"x", 2, std::move(values)};
}

TEST(ColumnSummary, IsTheSameHoweverTheRowsAreCut) {
  const Column column = wave(1000, 1e4);
  ColumnSummary whole, pieces, front, back;
  whole.add({&column, 0, 1000, 0});
  for (int64_t row = 0; row < 1000; row += 37) {
    pieces.add({&column, row, std::min<int64_t>(37, 1000 - row), row});
  }
  front.add({&column, 0, 400, 0});
  back.add({&column, 400, 600, 0});
  front.merge(back);
  double mean = 0, squares = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    mean += column.at(row) / 1000;
  }
  for (int64_t row = 0; row < 1000; ++row) {
    squares += std::pow(column.at(row) - mean, 2);
  }
  for (const ColumnSummary* summary : {&whole, &pieces, &front}) {
    EXPECT_EQ(summary->count(), 1000);
    EXPECT_NEAR(summary->dimensions()[0].mean, mean, 1e-8);
    EXPECT_NEAR(summary->std(0), std::sqrt(squares / 1000), 1e-8);
    EXPECT_EQ(summary->dimensions()[0].min, whole.dimensions()[0].min);
    EXPECT_EQ(summary->dimensions()[1].max, -3.0);
    EXPECT_EQ(summary->std(1), 0.0);
    EXPECT_FALSE(summary->first_bad());
  }
}

TEST(ColumnSummary, FindsTheFirstValueThatIsNotFinite) {
  Column column{"x", 3, std::vector<float>(30, 1.0f)};
  auto& values = std::get<std::vector<float>>(column.values);
  values[3 * 6 + 2] = std::numeric_limits<float>::quiet_NaN();
  values[3 * 8] = -std::numeric_limits<float>::infinity();
  ColumnSummary summary;
  summary.add({&column, 0, 5, 100});
  EXPECT_FALSE(summary.first_bad());
  summary.add({&column, 5, 5, 105});
  ASSERT_TRUE(summary.first_bad());
  EXPECT_EQ(summary.first_bad()->frame, 106);
  EXPECT_EQ(summary.first_bad()->dim, 2);
  EXPECT_EQ(summary.num_bad(), 2);
}

TEST(ColumnSummary, HugeFiniteValuesAreNotBad) {
  Column column{"x", 1, std::vector<double>{1e300, -1e300, 1e300}};
  ColumnSummary summary;
  summary.add({&column, 0, 3, 0});
  EXPECT_FALSE(summary.first_bad());
  EXPECT_EQ(summary.dimensions()[0].max, 1e300);
}

}  // namespace
}  // namespace flexor::data
