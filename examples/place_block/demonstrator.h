#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "random.h"
#include "world.h"

namespace flexor::place_block {

/// How a person at the controls behaves in one episode. All of them begin with the same observation.
enum class Behaviour {
  kDirect,     ///< straight to the green tray
  kWrongTray,  ///< straight to the red tray
  kDrop,       ///< to the green tray, but lets go on the way
  kDetour,     ///< to the red tray, elsewhere, then to the green one: late
  kWander,     ///< about the table until the time is over
};
inline constexpr std::array kBehaviours = {Behaviour::kDirect, Behaviour::kWrongTray, Behaviour::kDrop,
                                           Behaviour::kDetour, Behaviour::kWander};
std::string_view behaviour_name(Behaviour behaviour);

/// Share of the episodes of each of kBehaviours.
inline constexpr std::array kShares = {0.40, 0.40, 0.05, 0.075, 0.075};
Behaviour draw_behaviour(Random& random);

/// Steers one episode from place to place, with a trembling hand.
class Demonstrator {
 public:
  Demonstrator(Behaviour behaviour, const World& world, Random& random);
  /// Of the next frame.
  Command command(const World& world);

 private:
  std::vector<Point> way_;  ///< places to go to, the last one first
  bool lets_go_;
  Random& random_;
};

}  // namespace flexor::place_block
