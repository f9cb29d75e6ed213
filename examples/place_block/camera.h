#pragma once
#include "media/picture.h"
#include "world.h"

namespace flexor::place_block {

inline constexpr int kPictureSize = 64;  ///< pixels, width and height

/// The table from above, 64 x 64: both trays, the gripper's jaws, the block between them.
media::Picture draw(const World& world);

}  // namespace flexor::place_block
