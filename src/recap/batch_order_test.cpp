#include "recap/batch_order.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

RecapOrderConfig config_of(int64_t world, int64_t rank, int64_t micro, int64_t per_step, bool mixed) {
  RecapOrderConfig config{
      .micro_batch_size = micro, .accumulation = per_step / micro / world, .rank = rank, .world = world};
  config.add_dataset(37, 100, 1.0);
  if (mixed) {
    config.add_dataset(20, 500, 0.5);
  }
  return config;
}

/// Positions of a step in the order of the ranks' micro batches.
std::vector<int64_t> step_of_ranks(int64_t step, int64_t world, int64_t micro, int64_t per_step, bool mixed) {
  std::vector<int64_t> all(static_cast<size_t>(per_step), -1);
  const int64_t accumulation = per_step / micro / world;
  for (int64_t rank = 0; rank < world; ++rank) {
    const RecapOrder order(config_of(world, rank, micro, per_step, mixed));
    for (int64_t m = 0; m < accumulation; ++m) {
      const int64_t batch = step * accumulation + m;
      const RecapOrder::StepPlace place = order.step_place(batch);
      EXPECT_EQ(place.step, step);
      const std::vector<int64_t> positions = order.batch(batch).positions;
      EXPECT_EQ(positions.size(), static_cast<size_t>(micro));
      std::copy(positions.begin(), positions.end(), all.begin() + place.first);
    }
  }
  return all;
}

// 37 samples in steps of 8: four steps an epoch, the rest is left out.
TEST(RecapOrder, AStepIsTheSameForAnyRanksAndMicroBatches) {
  for (const bool mixed : {false, true}) {
    for (int64_t step = 0; step < 10; ++step) {
      const std::vector<int64_t> one = step_of_ranks(step, 1, 8, 8, mixed);
      EXPECT_EQ(std::count(one.begin(), one.end(), -1), 0);
      for (const auto& [world, micro] : {std::pair(1, 2), std::pair(2, 4), std::pair(2, 2), std::pair(4, 2)}) {
        EXPECT_EQ(step_of_ranks(step, world, micro, 8, mixed), one) << world << " " << micro << " " << mixed;
      }
    }
  }
}

TEST(RecapOrder, AnEpochHasNoSampleTwiceAndTheStepsOfTheReference) {
  std::set<int64_t> seen;
  for (int64_t step = 0; step < 4; ++step) {
    const std::vector<int64_t> positions = step_of_ranks(step, 2, 2, 8, false);
    seen.insert(positions.begin(), positions.end());
  }
  EXPECT_EQ(seen.size(), 32U);
  for (const int64_t world : {1, 2, 4}) {
    EXPECT_EQ(RecapOrder(config_of(world, 0, 2, 8, false)).steps_per_epoch(), 4);
  }
}

// RLinf's rank r takes every world-th index of the epoch; together they train on the same samples in a step.
TEST(RecapOrder, AStepHasTheSamplesOfTheReferencesRanksTogether) {
  const std::vector<int64_t> epoch = data::random_permutation(37, 0);
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<int64_t> reference;
    for (int64_t rank = 0; rank < 2; ++rank) {
      for (int64_t i = 0; i < 4; ++i) {
        reference.push_back(100 + epoch[static_cast<size_t>((step * 4 + i) * 2 + rank)]);
      }
    }
    std::vector<int64_t> ours = step_of_ranks(step, 2, 2, 8, false);
    std::ranges::sort(reference);
    std::ranges::sort(ours);
    EXPECT_EQ(ours, reference);
  }
}

TEST(RecapOrder, NeedsAMicroBatchOfSamples) {
  EXPECT_TRUE(throws_error(ErrorKind::kData, "give 37 samples an epoch, a micro batch has 40",
                           [] { RecapOrder(config_of(1, 0, 40, 40, false)); }));
}

TEST(EveryNthBatch, OfAllRanksAreTheBatchesOnce) {
  const auto all = std::make_shared<const AscendingOrder>(11, 2);
  std::vector<int64_t> seen;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t rank = 0; rank < 3; ++rank) {
      const std::vector<int64_t> positions = EveryNthBatch(all, rank, 3).batch(i).positions;
      seen.insert(seen.end(), positions.begin(), positions.end());
    }
  }
  std::vector<int64_t> wanted(11);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(seen, wanted);
}

}  // namespace
}  // namespace flexor::recap
