#include "judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "camera.h"
#include "interval.h"
#include "result.h"
#include "rollout.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::place_block {
namespace {

using testing::HasSubstr;

/// The same action for everybody.
Act always(float dx, float dy, float opening) {
  return [=](const data::RawBatch& observations, const std::vector<int64_t>&, int64_t) {
    return at::tensor({dx, dy, opening}).expand({observations.size(), 8, 3}).contiguous();
  };
}

TEST(RollOut, EndsEveryEpisode) {
  for (const Verdict& verdict : roll_out({.episodes = 9}, always(0, 0, 1))) {
    EXPECT_EQ(verdict.outcome, Outcome::kDropped);
    EXPECT_EQ(verdict.frames, 3);  // the jaws need three to open
  }
  for (const Verdict& verdict : roll_out({.episodes = 9, .execute = 7}, always(0, 0, 0))) {
    EXPECT_EQ(verdict.outcome, Outcome::kTimeout);
    EXPECT_EQ(verdict.frames, kMaxFrames);
  }
}

/// The green tray's centre as the first picture shows it, where nothing lies on it: [B, 2].
Tensor find_green(const data::RawBatch& observations) {
  const Tensor pixels = observations.cameras.at(0).pixels.to(at::kFloat);  // [B, 3, H, W]
  const Tensor red = pixels.select(1, 0), green = pixels.select(1, 1), blue = pixels.select(1, 2);
  const Tensor tray = (green - red > 40).logical_and(green - blue > 40).to(at::kFloat);  // [B, H, W]
  const Tensor places = (at::arange(kPictureSize, at::kFloat) + 0.5) / kPictureSize;
  const Tensor x = (tray * places).sum({1, 2}), y = (tray * (1 - places).unsqueeze(1)).sum({1, 2});
  return at::stack({x, y}, 1) / tray.sum({1, 2}).unsqueeze(1);
}

TEST(RollOut, CanBeSolvedFromTheFirstPicture) {
  Tensor green;
  const Act act = [&green](const data::RawBatch& seen, const std::vector<int64_t>& episodes, int64_t look) {
    if (look == 0) {
      green = find_green(seen);
    }
    const Tensor move = green.index_select(0, at::tensor(episodes)) - seen.state.slice(1, 0, 2);  // [B, 2]
    const Tensor opening = (move.norm(2, 1, true) < 0.02).to(at::kFloat);                         // [B, 1]
    return at::cat({move, opening}, 1).unsqueeze(1);
  };
  for (const Verdict& verdict : roll_out({.episodes = 20, .execute = 1}, act)) {
    EXPECT_EQ(verdict.outcome, Outcome::kPlaced);
  }
}

TEST(RollOut, DoesNotDependOnTheBatchSize) {
  const Act act = [](const data::RawBatch& seen, const std::vector<int64_t>& episodes, int64_t look) {
    std::vector<Tensor> actions;
    for (const int64_t episode : episodes) {
      at::Generator generator =
          make_generator(stream_seed(3, static_cast<uint64_t>(episode), static_cast<uint64_t>(look)));
      actions.push_back(at::rand({6, 3}, generator) * 0.06 - at::tensor({0.02F, 0.01F, 0.0F}));
    }
    EXPECT_EQ(seen.size(), static_cast<int64_t>(episodes.size()));
    Tensor all = at::stack(actions);
    all.select(2, 2).mul_(look > 3 ? 15.0 : 1.0);
    return all;
  };
  const auto one = roll_out({.episodes = 12, .batch_size = 1}, act);
  const auto many = roll_out({.episodes = 12, .batch_size = 5}, act);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].outcome, many[i].outcome);
    EXPECT_EQ(one[i].frames, many[i].frames);
  }
}

TEST(RollOut, RefusesActionsOfAnotherShape) {
  const Act act = [](const data::RawBatch& seen, const std::vector<int64_t>&, int64_t) {
    return at::zeros({seen.size(), 4, 3});
  };
  try {
    roll_out({.episodes = 2, .execute = 5}, act);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("[2, 4, 3]"));
    EXPECT_THAT(error.what(), HasSubstr("[2, 5 or more, 3]"));
  }
}

TEST(Interval, IsWilsons) {  // Newcombe 1998, table I: 81 of 263
  const Interval some = wilson(81, 263);
  EXPECT_NEAR(some.low, 0.2553, 5e-5);
  EXPECT_NEAR(some.high, 0.3662, 5e-5);
  EXPECT_EQ(wilson(0, 20).low, 0);
  EXPECT_NEAR(wilson(0, 20).high, 0.1611, 5e-5);
  EXPECT_EQ(wilson(20, 20).high, 1);
}

TEST(Interval, OfADifferenceIsNewcombes) {  // Newcombe 1998, table II: 56 of 70 against 48 of 80, method 10
  const Interval gain = difference(wilson(56, 70), wilson(48, 80));
  EXPECT_NEAR(gain.share, 0.2, 1e-12);
  EXPECT_NEAR(gain.low, 0.0524, 5e-5);
  EXPECT_NEAR(gain.high, 0.3339, 5e-5);
}

Json some_result(const std::string& name, int successes, int64_t seed) {
  std::vector<Verdict> verdicts(static_cast<size_t>(successes), {Outcome::kPlaced, 20});
  verdicts.resize(100, {Outcome::kWrongTray, 18});
  return result_json(name, Json::object({{"episodes", 100}, {"seed", seed}}), verdicts);
}

TEST(Result, CountsOutcomes) {
  const Json result = some_result("a", 40, 1);
  EXPECT_EQ(result.at("successes").as_int(), 40);
  EXPECT_EQ(result.at("outcomes").at("wrong_tray").as_int(), 60);
  EXPECT_DOUBLE_EQ(result.at("mean_frames").as_double(), 18.8);
  EXPECT_DOUBLE_EQ(result.at("mean_frames_success").as_double(), 20.0);
  EXPECT_TRUE(some_result("none", 0, 1).at("mean_frames_success").is_null());
}

TEST(Result, ComparesWithTheFirst) {
  const std::string table = markdown_table({some_result("plain", 40, 1), some_result("recap", 75, 1)});
  EXPECT_THAT(table, HasSubstr("| plain | 40.0 | 30.9 to 49.8 | – | 20 | 60 | 0 | 0 |\n"));
  EXPECT_THAT(table, HasSubstr("| recap | 75.0 | 65.7 to 82.5 | +35.0 (21.5 to 46.7) | 20 | 25 | 0 | 0 |\n"));
}

TEST(Result, OfOtherWorldsIsNotCompared) {
  EXPECT_THROW(markdown_table({some_result("a", 1, 1), some_result("b", 1, 2)}), Error);
}

TEST(Judge, RefusesAGuidanceThatIsNoNumber) {
  std::ostringstream out;
  try {
    judge({.policy = "nowhere", .guidance = std::numeric_limits<double>::quiet_NaN()}, out);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("guidance is nan"));
  }
}

TEST(Judge, RefusesAPolicyThatIsNotThere) {
  std::ostringstream out;
  EXPECT_THROW(judge({.policy = "/nowhere"}, out), Error);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace flexor::place_block
