#include "world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "camera.h"
#include "demonstrator.h"

namespace flexor::place_block {
namespace {

/// Lets the block go at `target`, where it is carried first.
Outcome let_go_at(World& world, Point target) {
  while (gap(world.gripper(), target) > 1e-9) {
    world.step({.move = {target.x - world.gripper().x, target.y - world.gripper().y}, .opening = 0});
  }
  for (int i = 0; i < 2; ++i) {  // the jaws need three frames to open
    world.step({.move = {}, .opening = 1});
    EXPECT_FALSE(world.is_over());
  }
  world.step({.move = {}, .opening = 1});
  return world.outcome();
}

TEST(World, FollowsFromTheSeed) {
  const World a(7), b(7), c(8);
  EXPECT_EQ(a.state(), b.state());
  EXPECT_EQ(draw(a).rgb, draw(b).rgb);
  EXPECT_NE(draw(a).rgb, draw(c).rgb);
}

TEST(World, HasItsTraysApartAndOnTheTable) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const World world(seed);
    EXPECT_GT(gap(world.green(), world.red()), 2 * kTrayRadius);
    EXPECT_GT(world.green().y - world.gripper().y, 3 * kTrayRadius);
    for (const Point tray : {world.green(), world.red()}) {
      EXPECT_TRUE(tray.x > kTrayRadius && tray.x < 1 - kTrayRadius && tray.y < 1 - kTrayRadius);
    }
  }
}

TEST(World, SucceedsOnTheGreenTrayAlone) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    World green(seed), red(seed), beside(seed), edge(seed), over(seed);
    EXPECT_EQ(let_go_at(green, green.green()), Outcome::kPlaced);
    EXPECT_EQ(let_go_at(red, red.red()), Outcome::kWrongTray);
    EXPECT_EQ(let_go_at(beside, {0.5, 0.3}), Outcome::kDropped);
    EXPECT_EQ(let_go_at(edge, {edge.green().x, edge.green().y - 0.99 * kTrayRadius}), Outcome::kPlaced);
    EXPECT_NE(let_go_at(over, {over.green().x, over.green().y - 1.01 * kTrayRadius}), Outcome::kPlaced);
  }
}

TEST(World, ShortensLongMovesAndKeepsTheGripperOnTheTable) {
  World world(3);
  const Point start = world.gripper();
  world.step({.move = {0, 9}, .opening = 0});
  EXPECT_NEAR(world.gripper().y, start.y + kMaxStep, 1e-12);
  EXPECT_EQ(world.gripper().x, start.x);
  for (int i = 0; i < 30; ++i) {
    world.step({.move = {-9, 0}, .opening = 0});
  }
  EXPECT_EQ(world.gripper().x, 0.0);
}

TEST(World, EndsAfterItsTimeAndStaysAsItIs) {
  World world(3);
  for (int i = 0; i < kMaxFrames; ++i) {
    EXPECT_FALSE(world.is_over());
    world.step({.move = {}, .opening = 0.7});  // the block is still held
  }
  EXPECT_EQ(world.outcome(), Outcome::kTimeout);
  const auto state = world.state();
  world.step({.move = {0.01, 0.01}, .opening = 1});
  EXPECT_EQ(world.state(), state);
  EXPECT_EQ(world.outcome(), Outcome::kTimeout);
  EXPECT_EQ(world.num_frames(), kMaxFrames);
}

TEST(Camera, ShowsTraysAndBlockWhereTheyAre) {
  const World world(11);
  const media::Picture picture = draw(world);
  ASSERT_EQ(picture.rgb.size(), size_t{3} * kPictureSize * kPictureSize);
  const auto pixel = [&](Point at) {
    const auto column = static_cast<size_t>(at.x * kPictureSize);
    const auto row = static_cast<size_t>((1 - at.y) * kPictureSize);
    const size_t first = 3 * (row * kPictureSize + column);
    return std::vector<int>(picture.rgb.begin() + static_cast<ptrdiff_t>(first),
                            picture.rgb.begin() + static_cast<ptrdiff_t>(first) + 3);
  };
  EXPECT_THAT(pixel(world.green()), testing::ElementsAre(58, 152, 76));
  EXPECT_THAT(pixel(world.red()), testing::ElementsAre(190, 62, 52));
  EXPECT_THAT(pixel(world.gripper()), testing::ElementsAre(44, 84, 204));
}

class Behaviours : public testing::TestWithParam<Behaviour> {};

TEST_P(Behaviours, EndAsTheirNameSays) {
  int successes = 0, frames = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    World world(seed);
    Random random(seed + 1000);
    Demonstrator demonstrator(GetParam(), world, random);
    while (!world.is_over()) {
      world.step(demonstrator.command(world));
    }
    successes += world.outcome() == Outcome::kPlaced ? 1 : 0;
    frames += world.num_frames();
  }
  const bool reaches_green = GetParam() == Behaviour::kDirect || GetParam() == Behaviour::kDetour;
  EXPECT_TRUE(reaches_green ? successes >= 48 : successes <= 2) << successes;
  EXPECT_EQ(GetParam() == Behaviour::kWander, frames == 50 * kMaxFrames) << frames;
  EXPECT_EQ(frames < 50 * 25, GetParam() != Behaviour::kWander && GetParam() != Behaviour::kDetour) << frames;
}

INSTANTIATE_TEST_SUITE_P(All, Behaviours, testing::ValuesIn(kBehaviours),
                         [](const auto& test) { return std::string(behaviour_name(test.param)); });

TEST(Behaviours, HaveTheirShares) {
  Random random(5);
  std::array<int, kBehaviours.size()> counts{};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[static_cast<size_t>(draw_behaviour(random))];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    EXPECT_NEAR(counts[i] / static_cast<double>(kDraws), kShares[i], 0.02);
  }
}

}  // namespace
}  // namespace flexor::place_block
