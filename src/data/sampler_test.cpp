#include "data/sampler.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "data/mixture.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using ::testing::HasSubstr;

Dataset open_episodes(const std::string& name, std::optional<std::vector<int64_t>> episodes = std::nullopt) {
  DatasetOptions options;
  options.root = testing::tests_path("data/datasets/" + name);
  options.episodes = std::move(episodes);
  return Dataset::open(options);
}

const Mixture& one_dataset() {
  static const Mixture mixture(open_episodes("v21_h264"));
  return mixture;
}

const Json& golden_order() {
  static const Json json = Json::read_file(testing::tests_path("data/datasets/golden/sampler_head.json"));
  return json;
}

std::vector<int64_t> ints(const Json& json) {
  std::vector<int64_t> values;
  for (const Json& value : json.as_array()) {
    values.push_back(value.as_int());
  }
  return values;
}

TEST(Sampler, EpochSeedsAreNumpysSeedSequence) {
  for (const auto& [key, value] : golden_order().at("epoch_seed").as_object()) {
    const size_t comma = key.find(',');
    const uint64_t seed = std::stoull(key.substr(0, comma)), epoch = std::stoull(key.substr(comma + 1));
    const uint64_t expected =
        value.is_int() ? static_cast<uint64_t>(value.as_int()) : static_cast<uint64_t>(value.as_double());
    if (value.is_int()) {
      EXPECT_EQ(epoch_seed(seed, epoch), expected) << key;
    } else {  // above 2^63: the JSON reader holds it as a double
      EXPECT_EQ(static_cast<double>(epoch_seed(seed, epoch)), value.as_double()) << key;
    }
  }
}

TEST(Sampler, OrdersAreTheReferencesOrders) {
  for (const uint64_t seed : {0, 1000}) {
    const Sampler sampler(one_dataset(), {.seed = seed});
    for (const int64_t epoch : {0, 1, 2}) {
      const std::string key = "shuffle_seed" + std::to_string(seed) + "_epoch" + std::to_string(epoch);
      EXPECT_EQ(*sampler.order(epoch), ints(golden_order().at(key))) << key;
    }
  }
  EXPECT_EQ(*Sampler(one_dataset(), {.shuffle = false}).order(0), ints(golden_order().at("no_shuffle")));
  EXPECT_EQ(*Sampler(one_dataset(), {.shuffle = false, .drop_n_last_frames = 9}).order(0),
            ints(golden_order().at("no_shuffle_drop_last_9")));
  EXPECT_EQ(*Sampler(one_dataset(), {.seed = 1000, .drop_n_last_frames = 9}).order(1),
            ints(golden_order().at("shuffle_seed1000_epoch1_drop_last_9")));
}

TEST(Sampler, DropsFramesAtTheEndsOfSomeEpisodes) {
  const std::vector<std::pair<int64_t, int64_t>> ranges = {{0, 32}, {77, 137}, {137, 162}};  // episodes 0, 2, 3
  EXPECT_EQ(kept_positions(ranges, 2, 30), ints(golden_order().at("drop_first_2_last_30_eps_0_2_3")));
}

TEST(Sampler, StatesOfAStepAreTheReferencesStates) {
  for (const Json& row : golden_order().at("compute_sampler_state").as_array()) {
    const Sampler sampler(one_dataset(),
                          {.batch_size = row.at("batch_size").as_int(), .world = row.at("num_processes").as_int()});
    const SamplerState state = sampler.state(row.at("step").as_int());
    EXPECT_EQ(state, (SamplerState{row.at("epoch").as_int(), row.at("start_index").as_int()})) << row.dump();
  }
}

TEST(Sampler, ResumesWithinAnEpoch) {
  const Sampler sampler(one_dataset(), {.seed = 1000, .batch_size = 8});
  const std::vector<int64_t> expected = ints(golden_order().at("resume_seed1000_epoch1_start96"));
  std::vector<int64_t> rest;
  int64_t step = 32 + 12;  // 32 batches of 8 in epoch 0, then 96 samples
  ASSERT_EQ(sampler.state(step), (SamplerState{1, 96}));
  for (; sampler.state(step).epoch == 1; ++step) {
    const auto batch = sampler.batch(step);
    rest.insert(rest.end(), batch.positions.begin(), batch.positions.end());
  }
  EXPECT_EQ(rest, expected);
}

TEST(Sampler, OneRankKeepsTheSmallLastBatch) {
  const Sampler sampler(one_dataset(), {.batch_size = 8});
  EXPECT_EQ(sampler.batches_per_epoch(), 32);
  EXPECT_EQ(sampler.batch(31).positions.size(), 3U);  // 251 = 31 * 8 + 3
  EXPECT_EQ(sampler.batch(32).positions.size(), 8U);
  EXPECT_EQ(sampler.batch(32).epoch, 1);
}

/// Positions of a step over all ranks and micro batches, in the order of their offsets.
std::vector<int64_t> step_samples(const SamplerConfig& config, int64_t step) {
  std::map<int64_t, std::vector<int64_t>> slices;
  for (int64_t rank = 0; rank < config.world; ++rank) {
    SamplerConfig own = config;
    own.rank = rank;
    const Sampler sampler(one_dataset(), own);
    for (int64_t m = 0; m < config.accumulation; ++m) {
      const int64_t number = step * config.accumulation + m;
      const Sampler::Slice slice = sampler.slice(number);
      const auto batch = sampler.batch(number);
      EXPECT_EQ(slice.step, step);
      EXPECT_EQ(static_cast<int64_t>(batch.positions.size()), std::max<int64_t>(1, slice.count));
      if (slice.count > 0) {
        slices[slice.offset] = batch.positions;
      }
    }
  }
  std::vector<int64_t> all;
  for (const auto& [offset, positions] : slices) {
    all.insert(all.end(), positions.begin(), positions.end());
  }
  return all;
}

TEST(Sampler, RanksAndMicroBatchesShareTheStepsOfOneRank) {
  constexpr int64_t kStep = 24;  // 251 = 10 * 24 + 11
  const Sampler alone(one_dataset(), {.batch_size = kStep});
  for (const auto& [world, accumulation] :
       {std::pair<int64_t, int64_t>{1, 3}, {2, 1}, {2, 3}, {3, 2}, {4, 1}, {8, 3}}) {
    const SamplerConfig config{
        .batch_size = kStep / world / accumulation, .world = world, .accumulation = accumulation};
    const Sampler of_rank_0(one_dataset(), config);
    for (const int64_t step : {0, 1, 9, 10, 11, 21, 22}) {
      EXPECT_EQ(step_samples(config, step), alone.batch(step).positions) << world << " ranks, " << accumulation;
      EXPECT_EQ(of_rank_0.state(step * accumulation), alone.state(step));
    }
  }
}

TEST(Sampler, ALastStepSmallerThanTheRanksLeavesStandIns) {
  // 251 = 5 * 50 + 1: one sample for five ranks.
  const SamplerConfig config{.batch_size = 10, .rank = 3, .world = 5};
  const Sampler sampler(one_dataset(), config);
  EXPECT_EQ(sampler.slice(5).count, 0);
  EXPECT_EQ(sampler.slice(5).step_samples, 1);
  EXPECT_EQ(sampler.slice(5).micro_samples, 1);
  EXPECT_EQ(sampler.batch(5).positions, std::vector<int64_t>{sampler.order(0)->at(250)});
  EXPECT_EQ(sampler.batch(6).epoch, 1);
}

TEST(Sampler, GoesOnFromASampleWithOtherBatches) {
  const Sampler before(one_dataset(), {.batch_size = 8});
  const SamplerState at = before.state(12);
  const Sampler after(one_dataset(), {.batch_size = 20, .first_step = 12, .start = at});
  EXPECT_EQ(after.batch(12).positions.front(), before.order(0)->at(96));
  EXPECT_EQ(after.state(12), at);
  EXPECT_EQ(after.state(20), (SamplerState{1, 0}));  // 155 samples were left: 8 steps, the last of 15
  EXPECT_EQ(after.batch(19).positions.size(), 15U);
  EXPECT_EQ(after.state(21), (SamplerState{1, 20}));
}

TEST(Sampler, MixesDatasetsByTheirWeights) {
  const Mixture mixture(
      {{open_episodes("v21_h264"), 3.0}, {open_episodes("v30_av1", std::vector<int64_t>{0, 1}), 1.0}});
  const Sampler sampler(mixture, {.seed = 7});
  ASSERT_EQ(sampler.num_frames(), 251 + 77);
  int64_t first = 0, total = 0;
  for (const int64_t epoch : {0, 1, 2, 3}) {
    const auto order = sampler.order(epoch);
    ASSERT_EQ(static_cast<int64_t>(order->size()), sampler.num_frames());
    std::map<int64_t, int> seen;
    for (const int64_t position : *order) {
      first += position < 251 ? 1 : 0;
      ++total;
      ++seen[position];
    }
    // Within an epoch no frame comes again before all others of its dataset have come.
    int least = 1000, most = 0;
    for (const auto& [position, count] : seen) {
      if (position >= 251) {
        least = std::min(least, count);
        most = std::max(most, count);
      }
    }
    EXPECT_LE(most - least, 1);
  }
  EXPECT_NEAR(static_cast<double>(first) / static_cast<double>(total), 0.75, 0.04);
  EXPECT_EQ(*sampler.order(2), *Sampler(mixture, {.seed = 7}).order(2));
  EXPECT_NE(*sampler.order(2), *Sampler(mixture, {.seed = 8}).order(2));
}

TEST(Sampler, RefusesSizesThatMakeNoSense) {
  EXPECT_THROW(Sampler(one_dataset(), {.batch_size = 0}), Error);
  EXPECT_THROW(Sampler(one_dataset(), {.rank = 2, .world = 2}), Error);
  try {
    Sampler(one_dataset(), {.drop_n_last_frames = 100});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), HasSubstr("no frame to sample from 6 episodes without the last 100"));
  }
}

}  // namespace
}  // namespace flexor::data
