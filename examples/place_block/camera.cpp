#include "camera.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flexor::place_block {
namespace {

using Colour = std::array<double, 3>;
constexpr double kPixel = 1.0 / kPictureSize;
constexpr Colour kTable{196, 188, 172}, kGreen{58, 152, 76}, kRed{190, 62, 52}, kRim{248, 246, 240};
constexpr Colour kBlock{44, 84, 204}, kJaw{48, 50, 56};

/// Blends a colour in; the edge is one pixel wide. @param inside  signed distance to the edge, positive inside
void blend(Colour& pixel, double inside, const Colour& colour) {
  const double share = std::clamp(0.5 + inside / kPixel, 0.0, 1.0);
  for (size_t c = 0; c < 3; ++c) {
    pixel[c] += share * (colour[c] - pixel[c]);
  }
}

/// Of an upright rectangle, by its half sizes; near the corners a little off, which no eye sees.
double inside_box(Point at, Point centre, double half_width, double half_height) {
  return std::min(half_width - std::abs(at.x - centre.x), half_height - std::abs(at.y - centre.y));
}

Colour colour_at(const World& world, Point at) {
  Colour pixel = kTable;
  for (const auto& [centre, colour] : {std::pair{world.green(), kGreen}, std::pair{world.red(), kRed}}) {
    blend(pixel, kTrayRadius - gap(at, centre), kRim);
    blend(pixel, kTrayRadius - 0.02 - gap(at, centre), colour);
  }
  const Point hand = world.gripper();
  blend(pixel, inside_box(at, hand, 0.035, 0.035), kBlock);
  const double reach = 0.05 + 0.03 * world.opening();
  for (const double side : {-reach, reach}) {
    blend(pixel, inside_box(at, {hand.x + side, hand.y}, 0.014, 0.05), kJaw);
  }
  return pixel;
}

}  // namespace

media::Picture draw(const World& world) {
  media::Picture picture;
  picture.resize(kPictureSize, kPictureSize);
  size_t next = 0;
  for (int row = 0; row < kPictureSize; ++row) {
    for (int column = 0; column < kPictureSize; ++column) {
      const Colour colour = colour_at(world, {(column + 0.5) * kPixel, 1.0 - (row + 0.5) * kPixel});
      for (const double value : colour) {
        picture.rgb[next++] = static_cast<uint8_t>(std::lround(value));
      }
    }
  }
  return picture;
}

}  // namespace flexor::place_block
