#include "recap/returns.h"

#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

TEST(EpisodeReturns, EqualTheReference) {
  for (const Json& item : golden_json("returns_episode.json").at("cases").as_array()) {
    const auto length = static_cast<size_t>(item.at("episode_length").as_int());
    const double gamma = item.at("gamma").as_double();
    std::vector<float> returns(length), rewards(length);
    episode_returns(item.at("is_success").as_bool(), gamma, item.at("failure_reward").as_double(), returns, rewards);
    EXPECT_EQ(rewards, floats(item.at("rewards")));
    const std::vector<float> expected = floats(item.at("returns"));
    ASSERT_EQ(expected.size(), length);
    const double tolerance = gamma == 0 || gamma == 1 ? 0 : 1e-5;
    for (size_t t = 0; t < length; ++t) {
      EXPECT_NEAR(returns[t], expected[t], tolerance * std::abs(expected[t])) << "gamma " << gamma << ", t " << t;
    }
  }
}

TEST(RowRuns, EqualTheReference) {
  for (const Json& item : golden_json("returns_episode.json").at("episode_boundaries").as_array()) {
    std::vector<RowRun> expected;
    for (const Json& run : item.at("boundaries").as_array()) {
      const std::vector<int64_t> numbers = integers(run);
      expected.push_back({numbers[0], numbers[1], numbers[2]});
    }
    EXPECT_EQ(row_runs(integers(item.at("episode_index"))), expected);
  }
}

TEST(NormalizedReturn, EqualsTheReference) {
  for (const Json& item : golden_json("return_normalizer.json").as_array()) {
    const ReturnRange range{item.at("return_min").as_double(), item.at("return_max").as_double()};
    const std::vector<double> x = item.at("x").as_numbers(), y = item.at("y").as_numbers();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(normalized_return(x[i], range, item.at("normalize_to_minus_one_zero").as_bool()), y[i], 1e-12);
    }
  }
}

TEST(ScalarStats, DoNotDependOnThePieces) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(-300.0F - static_cast<float>(i * i % 97));
  }
  ScalarStats whole, pieces;
  whole.add(values);
  const std::span<const float> all(values);
  for (size_t i = 0; i < values.size();) {
    const size_t n = std::min(values.size() - i, i % 7 + 1);
    pieces.add(all.subspan(i, n));
    i += n;
  }
  pieces.add({});
  EXPECT_EQ(pieces.count(), whole.count());
  for (const char* name : {"mean", "std", "min", "max"}) {
    EXPECT_NEAR(pieces.to_json().at(name).as_double(), whole.to_json().at(name).as_double(), 1e-9) << name;
  }
}

}  // namespace
}  // namespace flexor::recap
