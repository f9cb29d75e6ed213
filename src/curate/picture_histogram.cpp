#include "curate/picture_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dimension_stats.h"

namespace flexor::curate {
namespace {

using Levels = PictureHistogram::Levels;

/// Neighbouring pixels often share a level; counting them in tables of their own lets the CPU do so side by side.
constexpr size_t kTables = 4;
struct HistogramTables {
  uint32_t counts[kTables][3][256];
};

void count_row(const uint8_t* rgb, size_t pixels, HistogramTables& tables) {
  auto& t = tables.counts;
  size_t i = 0;
  for (; i + kTables <= pixels; i += kTables, rgb += 3 * kTables) {
    uint64_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, rgb, 8);
    std::memcpy(&high, rgb + 8, 4);
    if constexpr (std::endian::native == std::endian::little) {
      ++t[0][0][low & 255];
      ++t[0][1][(low >> 8) & 255];
      ++t[0][2][(low >> 16) & 255];
      ++t[1][0][(low >> 24) & 255];
      ++t[1][1][(low >> 32) & 255];
      ++t[1][2][(low >> 40) & 255];
      ++t[2][0][(low >> 48) & 255];
      ++t[2][1][low >> 56];
      ++t[2][2][high & 255];
      ++t[3][0][(high >> 8) & 255];
      ++t[3][1][(high >> 16) & 255];
      ++t[3][2][high >> 24];
    } else {
      for (size_t k = 0; k < 3 * kTables; ++k) {
        ++t[k / 3][k % 3][rgb[k]];
      }
    }
  }
  for (; i < pixels; ++i, rgb += 3) {
    ++t[0][0][rgb[0]];
    ++t[0][1][rgb[1]];
    ++t[0][2][rgb[2]];
  }
}

/// The level of pixel number `rank` in ascending order.
int level_at(const Levels& levels, int64_t rank) {
  int level = 0;
  uint64_t below = levels[0];
  while (level < 255 && below <= static_cast<uint64_t>(rank)) {
    below += levels[static_cast<size_t>(++level)];
  }
  return level;
}

data::DimensionStats channel_stats(const Levels& levels) {
  uint64_t n = 0;
  unsigned __int128 sum = 0, squares = 0;
  int min = 255, max = 0;
  for (int level = 0; level < 256; ++level) {
    const uint64_t count = levels[static_cast<size_t>(level)];
    n += count;
    sum += static_cast<unsigned __int128>(count) * static_cast<unsigned>(level);
    squares += static_cast<unsigned __int128>(count) * static_cast<unsigned>(level * level);
    min = count > 0 ? std::min(min, level) : min;
    max = count > 0 ? std::max(max, level) : max;
  }
  const auto pixels = static_cast<double>(n);
  data::DimensionStats stats;
  stats.min = min / 255.0;
  stats.max = max / 255.0;
  stats.mean = static_cast<double>(sum) / pixels / 255.0;
  stats.std = std::sqrt(static_cast<double>(squares * n - sum * sum)) / pixels / 255.0;
  for (size_t i = 0; i < data::kQuantiles.size(); ++i) {
    const auto [below, fraction] = data::quantile_place(data::kQuantiles[i].second, static_cast<int64_t>(n));
    const int low = level_at(levels, below), high = fraction > 0 ? level_at(levels, below + 1) : low;
    stats.quantiles[i] = (low + fraction * (high - low)) / 255.0;
  }
  return stats;
}

}  // namespace

int picture_stride(int width, int height) {
  constexpr int kTarget = 150, kThreshold = 300;
  if (std::max(width, height) < kThreshold) {
    return 1;
  }
  return (width > height ? width : height) / kTarget;
}

void PictureHistogram::add(const media::Picture& picture, int stride) {
  HistogramTables tables{};
  const auto row_bytes = static_cast<size_t>(picture.width) * 3;
  for (int y = 0; y < picture.height; y += stride) {
    const uint8_t* row = picture.rgb.data() + static_cast<size_t>(y) * row_bytes;
    if (stride == 1) {
      count_row(row, static_cast<size_t>(picture.width), tables);
      continue;
    }
    for (int x = 0; x < picture.width; x += stride) {
      count_row(row + static_cast<size_t>(x) * 3, 1, tables);
    }
  }
  for (const auto& table : tables.counts) {
    for (size_t c = 0; c < 3; ++c) {
      for (size_t level = 0; level < 256; ++level) {
        counts_[c][level] += table[c][level];
      }
    }
  }
  ++num_pictures_;
}

void PictureHistogram::add(const PictureHistogram& other) {
  for (size_t c = 0; c < 3; ++c) {
    std::transform(counts_[c].begin(), counts_[c].end(), other.counts_[c].begin(), counts_[c].begin(), std::plus<>());
  }
  num_pictures_ += other.num_pictures_;
}

uint64_t PictureHistogram::num_pixels() const {
  return std::accumulate(counts_[0].begin(), counts_[0].end(), uint64_t{0});
}

schema::FeatureStats PictureHistogram::stats() const {
  if (num_pixels() == 0) {
    throw Error(ErrorKind::kData, "no pictures to compute statistics from");
  }
  std::vector<data::DimensionStats> channels;
  for (const Levels& levels : counts_) {
    channels.push_back(channel_stats(levels));
  }
  schema::FeatureStats stats = data::to_feature_stats(channels, num_pictures_);
  stats.shape = {3, 1, 1};
  return stats;
}

}  // namespace flexor::curate
