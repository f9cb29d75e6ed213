#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "media/picture.h"
#include "media/scale_row.h"

namespace flexor::media {

/// Places a picture into a target of another size, keeping its shape: bilinear with half-pixel centres and no
/// antialiasing, centred, the rest zero. Scaled size = (int(h / r), int(w / r)), r = max(w / W, h / H).
/// Two forms, as LeRobot's resize_with_pad: `to_uint8` repeats the fixed-point arithmetic of PyTorch's uint8
/// interpolation bit for bit (15-bit weights, rows first, rounded between the passes); `to_float` works on value / 255.
/// The taps are computed once; not thread-safe (it holds scratch rows): one per thread.
class ResizeWithPad {
 public:
  /// All sizes > 0.
  ResizeWithPad(int source_width, int source_height, int target_width, int target_height);

  bool fits(int source_width, int source_height) const { return source_width == sw_ && source_height == sh_; }

  /// @param out  [3, target_height, target_width], planar
  void to_uint8(const Picture& picture, std::span<uint8_t> out);
  void to_float(const Picture& picture, std::span<float> out);  ///< values 0..1
  /// @param planes  [3, source_height, source_width], values 0..1
  void to_float(std::span<const float> planes, std::span<float> out);

  int scaled_width() const { return nw_; }
  int scaled_height() const { return nh_; }

 private:
  /// Neighbours of each output position of one axis, and their weights.
  struct Axis {
    RowTaps fixed;                     ///< in fixed point
    std::vector<int> index_f, next_f;  ///< [n]: the same, found in float32 arithmetic
    std::vector<float> lambda;         ///< [n]: weight of next_f
  };
  static Axis make_axis(int in, int out);

  /// The two source rows scaled last, planar [3, nw]: consecutive output rows often share one.
  template <typename T>
  struct Rows {
    std::vector<T> values[2];
    int number[2] = {-1, -1};
  };
  template <typename T, typename ScaleRow>
  const T* scaled_row(Rows<T>& rows, int y, int keep, const ScaleRow& scale_row) const;
  void scale_row(const uint8_t* source, uint8_t* out) const;
  void scale_row(const uint8_t* source, float* out) const;
  void scale_row(const float* source, float* out) const;
  template <typename T>
  void begin(Rows<T>& rows, std::span<T> out) const;
  template <typename ScaleRow>
  void blend_float(const ScaleRow& scale_row, std::span<float> out);

  int sw_, sh_, tw_, th_, nw_, nh_, left_, top_;
  Axis x_, y_;
  Rows<uint8_t> rows_;
  Rows<float> rows_f_;
};

}  // namespace flexor::media
