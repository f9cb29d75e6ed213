#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace flexor::data {

/// A small picture for people to look at.
struct Shot {
  int64_t frame = 0;          ///< within its episode
  std::vector<uint8_t> jpeg;  ///< empty if the picture cannot be read
  std::string error;          ///< why
};

struct ShotSize {
  int width = 320;  ///< about that many pixels: whole pixels of the picture are averaged
  int quality = 85;
};

/// Frames of one episode as small JPEG pictures. A picture that cannot be read is logged, and its shot says why.
/// @param camera  index into dataset.cameras()  @param number  0..num_episodes()-1
/// @throws Error(kInterrupted, kTerminated)
std::vector<Shot> shots_of(const Dataset& dataset, int64_t camera, int64_t number, std::span<const int64_t> frames,
                           const ShotSize& size);

}  // namespace flexor::data
