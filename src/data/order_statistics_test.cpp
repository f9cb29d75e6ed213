#include "data/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "data/dimension_stats.h"

namespace flexor::data {
namespace {

template <typename T>
std::vector<T> select(const std::vector<T>& values, const std::vector<int64_t>& ranks) {
  OrderStatistics<T> statistics(ranks);
  while (!statistics.done()) {
    auto counts = statistics.make_counts();
    statistics.count(values.data(), static_cast<int64_t>(values.size()), 1, counts);
    statistics.end_pass(counts);
  }
  std::vector<T> result;
  for (size_t i = 0; i < ranks.size(); ++i) {
    result.push_back(statistics.value(i));
  }
  return result;
}

template <typename T>
void expect_as_sorted(std::vector<T> values) {
  const auto last = static_cast<int64_t>(values.size()) - 1;
  const std::vector<int64_t> ranks = {0, last / 2, 1, last, last / 100, last / 2};
  const std::vector<T> found = select(values, ranks);
  std::ranges::sort(values);
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(found[i], values[static_cast<size_t>(ranks[i])]) << ranks[i];
  }
}

TEST(OrderStatistics, AreThoseOfTheSortedValues) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 1);
  std::vector<float> floats = {0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F};
  std::vector<double> doubles = {0.0, -0.0, 5e-324, 1e300, -1e300};
  std::vector<int64_t> ints = {0, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 3000; ++i) {
    floats.push_back(static_cast<float>(normal(random)));
    doubles.push_back(1e6 + 1e-9 * normal(random));  // only the lowest bits differ
    ints.push_back(i % 3 == 0 ? i : static_cast<int64_t>(random()) << (i % 30));
    bytes.push_back(static_cast<uint8_t>(i % 7));
  }
  expect_as_sorted(floats);
  expect_as_sorted(doubles);
  expect_as_sorted(ints);
  expect_as_sorted(bytes);
  expect_as_sorted(std::vector<float>(50, 0.25F));
}

TEST(OrderStatistics, ValuesMayBeSharedOutAmongThreads) {
  const std::vector<float> values = {5, 3, 9, 1, 7, 3, 3, 8};
  OrderStatistics<float> statistics({2, 5});
  while (!statistics.done()) {
    auto a = statistics.make_counts(), b = statistics.make_counts();
    statistics.count(values.data(), 4, 2, a);  // 5 9 7 3
    statistics.count(values.data() + 1, 4, 2, b);
    std::ranges::transform(a, b, a.begin(), std::plus<>());
    statistics.end_pass(a);
  }
  EXPECT_EQ(statistics.value(0), 3);
  EXPECT_EQ(statistics.value(1), 7);
}

TEST(Moments, OfPartsAreThoseOfTheWhole) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(1e6 + std::sin(i));
  }
  Moments parts;
  for (size_t begin = 0; begin < values.size(); begin += 137) {
    parts.add(moments_of(values.data() + begin, std::min<int64_t>(137, 1000 - static_cast<int64_t>(begin)), 1));
  }
  const DimensionStats whole = dimension_stats(values);
  EXPECT_EQ(parts.count, 1000);
  EXPECT_NEAR(parts.mean, whole.mean, 1e-9);
  EXPECT_NEAR(parts.std(), whole.std, 1e-12);
  EXPECT_EQ(parts.min, whole.min);
  EXPECT_EQ(parts.max, whole.max);
}

}  // namespace
}  // namespace flexor::data
