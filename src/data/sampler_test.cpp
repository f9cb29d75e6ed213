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

Mixture one_dataset() {
  return Mixture(open_episodes("v21_h264"));
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

TEST(Sampler, RanksDealOutTheSameGlobalOrder) {
  const Sampler alone(one_dataset(), {.batch_size = 8});
  for (const int64_t world : {2, 3, 4}) {
    std::vector<std::vector<int64_t>> by_batch;
    std::vector<std::unique_ptr<Sampler>> ranks;
    for (int64_t rank = 0; rank < world; ++rank) {
      ranks.push_back(
          std::make_unique<Sampler>(one_dataset(), SamplerConfig{.batch_size = 8, .rank = rank, .world = world}));
    }
    std::vector<int64_t> dealt;
    for (int64_t step = 0; step < ranks[0]->batches_per_epoch(); ++step) {
      for (const auto& rank : ranks) {
        const auto batch = rank->batch(step);
        EXPECT_EQ(batch.positions.size(), 8U);
        dealt.insert(dealt.end(), batch.positions.begin(), batch.positions.end());
      }
    }
    std::vector<int64_t> expected = *alone.order(0);
    ASSERT_GE(dealt.size(), expected.size());
    const size_t extra = dealt.size() - expected.size();
    expected.insert(expected.end(), expected.begin(), expected.begin() + static_cast<long>(extra));  // wraps round
    EXPECT_EQ(dealt, expected) << world << " ranks";
  }
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
