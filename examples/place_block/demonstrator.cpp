#include "demonstrator.h"

#include <algorithm>
#include <cmath>

namespace flexor::place_block {
namespace {

constexpr double kSpeed = 0.035;    // way of a frame
constexpr double kTremble = 0.004;  // deviation of a frame's way, each axis
constexpr double kNear = 0.02;      // a place counts as reached

Point somewhere(Random& random) {
  return {random.uniform(0.1, 0.9), random.uniform(0.1, 0.9)};
}

Point between(Point a, Point b, double share) {
  return {a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)};
}

std::vector<Point> places(Behaviour behaviour, const World& world, Random& random) {
  switch (behaviour) {
    case Behaviour::kDirect:
      return {world.green()};
    case Behaviour::kWrongTray:
      return {world.red()};
    case Behaviour::kDrop:
      return {between(world.gripper(), world.green(), random.uniform(0.3, 0.7))};
    case Behaviour::kDetour:
      return {world.red(), somewhere(random), world.green()};
    case Behaviour::kWander:
      break;
  }
  std::vector<Point> way;
  for (int i = 0; i < kMaxFrames; ++i) {  // more than there is time for
    way.push_back(somewhere(random));
  }
  return way;
}

}  // namespace

std::string_view behaviour_name(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::kDirect:
      return "direct";
    case Behaviour::kWrongTray:
      return "wrong_tray";
    case Behaviour::kDrop:
      return "drop";
    case Behaviour::kDetour:
      return "detour";
    case Behaviour::kWander:
      return "wander";
  }
  return "";
}

Behaviour draw_behaviour(Random& random) {
  double left = random.uniform(0, 1);
  for (size_t i = 0; i + 1 < kShares.size(); ++i) {
    if (left < kShares[i]) {
      return kBehaviours[i];
    }
    left -= kShares[i];
  }
  return kBehaviours.back();
}

Demonstrator::Demonstrator(Behaviour behaviour, const World& world, Random& random)
    : way_(places(behaviour, world, random)), lets_go_(behaviour != Behaviour::kWander), random_(random) {
  std::ranges::reverse(way_);
}

Command Demonstrator::command(const World& world) {
  while (way_.size() > 1 && gap(world.gripper(), way_.back()) < kNear) {
    way_.pop_back();
  }
  const Point target = way_.back();
  const double left = gap(world.gripper(), target);
  if (left < kNear && lets_go_) {
    return {.move = {}, .opening = 1};
  }
  const double share = std::min(kSpeed, left) / std::max(left, 1e-9);
  return {.move = {share * (target.x - world.gripper().x) + random_.normal(kTremble),
                   share * (target.y - world.gripper().y) + random_.normal(kTremble)},
          .opening = 0};
}

}  // namespace flexor::place_block
