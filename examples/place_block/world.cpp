#include "world.h"

#include <algorithm>
#include <cmath>

#include "random.h"

namespace flexor::place_block {

double gap(Point a, Point b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRunning:
      return "running";
    case Outcome::kPlaced:
      return "placed";
    case Outcome::kWrongTray:
      return "wrong_tray";
    case Outcome::kDropped:
      return "dropped";
    case Outcome::kTimeout:
      return "timeout";
  }
  return "";
}

World::World(uint64_t seed) {
  Random random(seed);
  gripper_ = {random.uniform(0.35, 0.65), random.uniform(0.1, 0.2)};
  green_ = {random.uniform(0.15, 0.35), random.uniform(0.65, 0.85)};
  red_ = {random.uniform(0.65, 0.85), random.uniform(0.65, 0.85)};
}

void World::step(const Command& command) {
  if (is_over()) {
    return;
  }
  const double way = std::hypot(command.move.x, command.move.y);
  const double share = way > kMaxStep ? kMaxStep / way : 1.0;
  gripper_.x = std::clamp(gripper_.x + share * command.move.x, 0.0, 1.0);
  gripper_.y = std::clamp(gripper_.y + share * command.move.y, 0.0, 1.0);
  const double wanted = std::clamp(command.opening, 0.0, 1.0);
  opening_ += std::clamp(wanted - opening_, -kMaxOpening, kMaxOpening);
  ++num_frames_;
  if (opening_ > kLetsGo) {
    outcome_ = let_go();
  } else if (num_frames_ == kMaxFrames) {
    outcome_ = Outcome::kTimeout;
  }
}

std::array<float, 3> World::state() const {
  return {static_cast<float>(gripper_.x), static_cast<float>(gripper_.y), static_cast<float>(opening_)};
}

Outcome World::let_go() const {
  return gap(gripper_, green_) < kTrayRadius ? Outcome::kPlaced
         : gap(gripper_, red_) < kTrayRadius ? Outcome::kWrongTray
                                             : Outcome::kDropped;
}

}  // namespace flexor::place_block
