#include "curate/episode_moments.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::curate {
namespace {

template <typename T>
void refuse_not_finite(const T* values, const StatsSource& source, const data::FeatureInfo& feature,
                       const ScanPiece& piece) {
  for (int64_t i = 0; i < piece.count * piece.width; ++i) {
    if (!std::isfinite(static_cast<double>(values[i]))) {
      throw Error(ErrorKind::kData,
                  str_cat(feature.recorded_name, " holds ", values[i], " in dimension ", i % piece.width),
                  place_of(source, piece, i / piece.width),
                  "repair the recording, or leave the episode out (flexor dataset delete-episodes)");
    }
  }
  throw Error(ErrorKind::kData, str_cat(feature.recorded_name, " holds values too large to be summed"),
              place_of(source, piece, 0));
}

}  // namespace

std::vector<data::Moments> EpisodeMoments::of(const StatsSource& source, const data::FeatureInfo& feature,
                                              const ScanPiece& piece) {
  constexpr int64_t kBlock = 1024;  // rows that stay in the first cache while each dimension is looked at
  std::vector<data::Moments> dims(static_cast<size_t>(piece.width));
  std::visit(
      [&](const auto& all) {
        const auto* values = all.data() + piece.first_row * piece.width;
        for (int64_t row = 0; row < piece.count; row += kBlock) {
          for (int64_t d = 0; d < piece.width; ++d) {
            const data::Moments block =
                data::moments_of(values + row * piece.width + d, std::min(kBlock, piece.count - row), piece.width);
            if (!std::isfinite(block.m2)) {
              refuse_not_finite(values, source, feature, piece);
            }
            dims[static_cast<size_t>(d)].add(block);
          }
        }
      },
      piece.values);
  return dims;
}

EpisodeMoments::EpisodeMoments(size_t num_episodes, int64_t width)
    : episodes_(num_episodes, std::vector<data::Moments>(static_cast<size_t>(width))) {}

void EpisodeMoments::add(size_t episode, const std::vector<data::Moments>& part) {
  for (size_t d = 0; d < part.size(); ++d) {
    episodes_[episode][d].add(part[d]);
  }
}

std::vector<data::Moments> EpisodeMoments::all() const {
  std::vector<data::Moments> sum(episodes_[0].size());
  for (const auto& episode : episodes_) {
    for (size_t d = 0; d < sum.size(); ++d) {
      sum[d].add(episode[d]);
    }
  }
  return sum;
}

}  // namespace flexor::curate
