#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flexor::media {

/// A decoded picture: 8-bit RGB, rows from top to bottom, no padding between rows (HWC).
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  ///< height * width * 3 bytes

  /// Sets the size; memory is reused.
  void resize(int new_width, int new_height) {
    width = new_width;
    height = new_height;
    rgb.resize(static_cast<size_t>(new_width) * static_cast<size_t>(new_height) * 3);
  }
};

}  // namespace flexor::media
