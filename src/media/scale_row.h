#pragma once
#include <cstdint>
#include <vector>

namespace flexor::media {

/// Two neighbours of each output position of a row, with 15-bit weights.
struct RowTaps {
  std::vector<int> index, next;           ///< [n]: neighbours; equal at the border, else next = index + 1
  std::vector<int16_t> weight0, weight1;  ///< [n]: scaled by 2^precision
  int precision = 0;
  std::vector<int16_t> wide;  ///< [n, 8]: weight0 and weight1 in turn, for the vector code; see widen()

  void widen();  ///< fills `wide`
};

/// One RGB row at another width: out[c][x] = round((s[index] * weight0 + s[next] * weight1) / 2^precision).
/// @param source        interleaved, source_width pixels
/// @param red,green,blue  n values each
void scale_rgb_row(const uint8_t* source, int source_width, const RowTaps& taps, uint8_t* red, uint8_t* green,
                   uint8_t* blue);

/// out[i] = round((a[i] * weight_a + b[i] * weight_b) / 2^precision)
void blend_rows(const uint8_t* a, const uint8_t* b, int weight_a, int weight_b, int precision, int n, uint8_t* out);

}  // namespace flexor::media
