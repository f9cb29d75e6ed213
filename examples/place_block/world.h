#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace flexor::place_block {

/// A place on the table, which is the square 0..1 x 0..1; y points away from the robot.
struct Point {
  double x = 0, y = 0;
};
double gap(Point a, Point b);

inline constexpr std::string_view kTask = "put the block on the green tray";
inline constexpr int kFps = 10;
inline constexpr double kTrayRadius = 0.12;
inline constexpr double kMaxStep = 0.05;    ///< the gripper's way in one frame, at most
inline constexpr double kMaxOpening = 0.3;  ///< the jaws' way in one frame, at most
inline constexpr double kLetsGo = 0.75;     ///< opening above which the block falls
inline constexpr int kMaxFrames = 60;       ///< then the episode is over

/// What the gripper is told for one frame.
struct Command {
  Point move;          ///< displacement; longer ones than kMaxStep are shortened
  double opening = 0;  ///< where the jaws shall be, 0 closed to 1 open
};

enum class Outcome {
  kRunning,
  kPlaced,     ///< on the green tray: the only success
  kWrongTray,  ///< on the red one
  kDropped,    ///< beside both
  kTimeout,    ///< still in the gripper after kMaxFrames
};
inline constexpr std::array kOutcomes = {Outcome::kPlaced, Outcome::kWrongTray, Outcome::kDropped, Outcome::kTimeout};
std::string_view outcome_name(Outcome outcome);

/// A gripper that carries a block above a table with a green tray on the left and a red one on the right. The
/// block is let go once: where it lies decides. Everything follows from the seed and the commands.
class World {
 public:
  explicit World(uint64_t seed);

  /// Moves by one frame. Does nothing once the episode is over.
  void step(const Command& command);

  Point gripper() const { return gripper_; }
  double opening() const { return opening_; }
  Point green() const { return green_; }  ///< centre of the tray
  Point red() const { return red_; }
  Outcome outcome() const { return outcome_; }
  bool is_over() const { return outcome_ != Outcome::kRunning; }
  int num_frames() const { return num_frames_; }  ///< commands obeyed so far
  /// observation.state: x and y of the gripper, its opening.
  std::array<float, 3> state() const;

 private:
  Outcome let_go() const;

  Point gripper_, green_, red_;
  double opening_ = 0;
  int num_frames_ = 0;
  Outcome outcome_ = Outcome::kRunning;
};

}  // namespace flexor::place_block
