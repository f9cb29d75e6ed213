#include "media/resize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace flexor::media {
namespace {

// Largest number of fraction bits with which the largest weight still fits 15 bits (PyTorch's and Pillow's rule).
int weight_precision(double largest) {
  int precision = 0;
  while (precision < 22 && std::lround(largest * (1 << (precision + 1))) < (1 << 15)) {
    ++precision;
  }
  return precision;
}

}  // namespace

ResizeWithPad::ResizeWithPad(int source_width, int source_height, int target_width, int target_height)
    : sw_(source_width), sh_(source_height), tw_(target_width), th_(target_height) {
  assert(sw_ > 0 && sh_ > 0 && tw_ > 0 && th_ > 0);
  const double ratio = std::max(static_cast<double>(sw_) / tw_, static_cast<double>(sh_) / th_);
  nw_ = std::clamp(static_cast<int>(sw_ / ratio), 1, tw_);
  nh_ = std::clamp(static_cast<int>(sh_ / ratio), 1, th_);
  left_ = (tw_ - nw_) / 2;
  top_ = (th_ - nh_) / 2;
  x_ = make_axis(sw_, nw_);
  y_ = make_axis(sh_, nh_);
}

ResizeWithPad::Axis ResizeWithPad::make_axis(int in, int out) {
  const auto n = static_cast<size_t>(out);
  Axis axis;
  axis.fixed.index.resize(n);
  axis.fixed.next.resize(n);
  axis.fixed.weight0.resize(n);
  axis.fixed.weight1.resize(n);
  axis.index_f.resize(n);
  axis.next_f.resize(n);
  axis.lambda.resize(n);
  const double scale = static_cast<double>(in) / out;
  const float scale_f = static_cast<float>(in) / static_cast<float>(out);
  std::vector<double> share0(n), share1(n);
  double largest = 0;
  for (size_t i = 0; i < n; ++i) {
    // Fixed point: a triangle of half-width 1 around the centre, normalised over the neighbours inside the picture.
    const double center = scale * (static_cast<double>(i) + 0.5);
    const int first = std::max(static_cast<int>(center - 0.5), 0);
    const int size = std::clamp(std::min(static_cast<int>(center + 1.5), in) - first, 1, 2);
    const double a = std::max(0.0, 1.0 - std::abs(first - center + 0.5));
    const double b = size == 2 ? std::max(0.0, 1.0 - std::abs(first + 1 - center + 0.5)) : 0.0;
    axis.fixed.index[i] = first;
    axis.fixed.next[i] = first + size - 1;
    share0[i] = a / (a + b);
    share1[i] = b / (a + b);
    largest = std::max({largest, share0[i], share1[i]});
    // Float: the position in float32, as PyTorch computes it.
    const float position = std::max(scale_f * (static_cast<float>(i) + 0.5F) - 0.5F, 0.0F);
    axis.index_f[i] = std::min(static_cast<int>(position), in - 1);
    axis.next_f[i] = std::min(axis.index_f[i] + 1, in - 1);
    axis.lambda[i] = std::clamp(position - static_cast<float>(axis.index_f[i]), 0.0F, 1.0F);
  }
  axis.fixed.precision = weight_precision(largest);
  const double one = 1 << axis.fixed.precision;
  for (size_t i = 0; i < n; ++i) {
    axis.fixed.weight0[i] = static_cast<int16_t>(std::lround(share0[i] * one));
    axis.fixed.weight1[i] = static_cast<int16_t>(std::lround(share1[i] * one));
  }
  axis.fixed.widen();
  return axis;
}

void ResizeWithPad::scale_row(const uint8_t* source, uint8_t* out) const {
  scale_rgb_row(source, sw_, x_.fixed, out, out + nw_, out + ptrdiff_t{2} * nw_);
}

void ResizeWithPad::scale_row(const uint8_t* source, float* out) const {
  for (int x = 0; x < nw_; ++x) {
    const auto i = static_cast<size_t>(x);
    const uint8_t *a = source + ptrdiff_t{3} * x_.index_f[i], *b = source + ptrdiff_t{3} * x_.next_f[i];
    const float wb = x_.lambda[i], wa = 1.0F - wb;
    for (int c = 0; c < 3; ++c) {
      out[c * nw_ + x] = static_cast<float>(a[c]) / 255.0F * wa + static_cast<float>(b[c]) / 255.0F * wb;
    }
  }
}

void ResizeWithPad::scale_row(const float* source, float* out) const {
  for (int c = 0; c < 3; ++c) {
    const float* plane = source + static_cast<ptrdiff_t>(c) * sw_ * sh_;
    for (int x = 0; x < nw_; ++x) {
      const auto i = static_cast<size_t>(x);
      out[c * nw_ + x] = plane[x_.index_f[i]] * (1.0F - x_.lambda[i]) + plane[x_.next_f[i]] * x_.lambda[i];
    }
  }
}

// Source row y at the new width; the slot that holds row `keep` stays.
template <typename T, typename ScaleRow>
const T* ResizeWithPad::scaled_row(Rows<T>& rows, int y, int keep, const ScaleRow& scale_row) const {
  for (const int slot : {0, 1}) {
    if (rows.number[slot] == y) {
      return rows.values[slot].data();
    }
  }
  const int slot = rows.number[0] == keep ? 1 : 0;
  rows.number[slot] = y;
  scale_row(y, rows.values[slot].data());
  return rows.values[slot].data();
}

template <typename T>
void ResizeWithPad::begin(Rows<T>& rows, std::span<T> out) const {
  assert(out.size() == static_cast<size_t>(tw_) * static_cast<size_t>(th_) * 3);
  for (const int slot : {0, 1}) {
    rows.number[slot] = -1;
    rows.values[slot].resize(static_cast<size_t>(nw_) * 3);
  }
  if (nw_ < tw_ || nh_ < th_) {
    std::fill(out.begin(), out.end(), T{0});
  }
}

void ResizeWithPad::to_uint8(const Picture& picture, std::span<uint8_t> out) {
  assert(fits(picture.width, picture.height));
  begin(rows_, out);
  const auto scale = [&](int y, uint8_t* row) { scale_row(picture.rgb.data() + ptrdiff_t{3} * y * sw_, row); };
  const RowTaps& taps = y_.fixed;
  for (int y = 0; y < nh_; ++y) {
    const auto i = static_cast<size_t>(y);
    const uint8_t* a = scaled_row(rows_, taps.index[i], taps.next[i], scale);
    const uint8_t* b = scaled_row(rows_, taps.next[i], taps.index[i], scale);
    for (int c = 0; c < 3; ++c) {
      uint8_t* target = out.data() + (ptrdiff_t{c} * th_ + top_ + y) * tw_ + left_;
      blend_rows(a + ptrdiff_t{c} * nw_, b + ptrdiff_t{c} * nw_, taps.weight0[i], taps.weight1[i], taps.precision, nw_,
                 target);
    }
  }
}

template <typename ScaleRow>
void ResizeWithPad::blend_float(const ScaleRow& scale, std::span<float> out) {
  begin(rows_f_, out);
  for (int y = 0; y < nh_; ++y) {
    const auto i = static_cast<size_t>(y);
    const float* a = scaled_row(rows_f_, y_.index_f[i], y_.next_f[i], scale);
    const float* b = scaled_row(rows_f_, y_.next_f[i], y_.index_f[i], scale);
    const float wb = y_.lambda[i], wa = 1.0F - wb;
    for (int c = 0; c < 3; ++c) {
      float* target = out.data() + (ptrdiff_t{c} * th_ + top_ + y) * tw_ + left_;
      const float *ra = a + ptrdiff_t{c} * nw_, *rb = b + ptrdiff_t{c} * nw_;
      for (int x = 0; x < nw_; ++x) {
        target[x] = std::clamp(ra[x] * wa + rb[x] * wb, 0.0F, 1.0F);
      }
    }
  }
}

void ResizeWithPad::to_float(const Picture& picture, std::span<float> out) {
  assert(fits(picture.width, picture.height));
  blend_float([&](int y, float* row) { scale_row(picture.rgb.data() + ptrdiff_t{3} * y * sw_, row); }, out);
}

void ResizeWithPad::to_float(std::span<const float> planes, std::span<float> out) {
  assert(planes.size() == static_cast<size_t>(sw_) * static_cast<size_t>(sh_) * 3);
  blend_float([&](int y, float* row) { scale_row(planes.data() + ptrdiff_t{y} * sw_, row); }, out);
}

}  // namespace flexor::media
