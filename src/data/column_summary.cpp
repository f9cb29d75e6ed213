#include "data/column_summary.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

namespace flexor::data {

void ColumnSummary::add(const ColumnPiece& piece) {
  if (dimensions_.empty()) {
    dimensions_.resize(static_cast<size_t>(piece.column->width));
  }
  std::visit(
      [&](const auto& values) {
        add_values(values.data() + piece.first_row * piece.column->width, piece.count, piece.first_frame);
      },
      piece.column->values);
}

template <typename T>
void ColumnSummary::add_values(const T* values, int64_t rows, int64_t first_frame) {
  if (rows == 0) {
    return;
  }
  const size_t width = dimensions_.size();
  std::vector<double> sum(width), squares(width), low(width), high(width);
  std::transform(values, values + width, low.begin(), [](T v) { return static_cast<double>(v); });
  high = low;
  const std::vector<double> origin = low;  // sums of distances from the first row lose no digits to a large offset
  for (int64_t row = 0; row < rows; ++row, values += width) {
    for (size_t d = 0; d < width; ++d) {
      const auto value = static_cast<double>(values[d]);
      const double shifted = value - origin[d];
      sum[d] += shifted;
      squares[d] += shifted * shifted;
      low[d] = value < low[d] ? value : low[d];
      high[d] = value > high[d] ? value : high[d];
    }
  }
  const auto n = static_cast<double>(rows);
  bool suspicious = false;
  std::vector<Dimension> part(width);
  for (size_t d = 0; d < width; ++d) {
    suspicious = suspicious || !std::isfinite(squares[d]);
    part[d] = {low[d], high[d], origin[d] + sum[d] / n, std::max(0.0, squares[d] - sum[d] * sum[d] / n)};
  }
  if (std::is_floating_point_v<T> && suspicious) {
    note_bad(values - rows * static_cast<int64_t>(width), rows, first_frame);
  }
  merge_dimensions(part, rows);
}

template <typename T>
void ColumnSummary::note_bad(const T* values, int64_t rows, int64_t first_frame) {
  const auto width = static_cast<int64_t>(dimensions_.size());
  for (int64_t i = 0; i < rows * width; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      if (num_bad_++ == 0) {
        first_bad_ = BadValue{first_frame + i / width, i % width, value};
      }
    }
  }
}

void ColumnSummary::merge_dimensions(const std::vector<Dimension>& dimensions, int64_t count) {
  const auto mine = static_cast<double>(count_), theirs = static_cast<double>(count), total = mine + theirs;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    Dimension& to = dimensions_[d];
    const Dimension& from = dimensions[d];
    if (count_ == 0) {
      to = from;
      continue;
    }
    const double shift = from.mean - to.mean;
    to.min = std::min(to.min, from.min);
    to.max = std::max(to.max, from.max);
    to.mean += shift * theirs / total;
    to.squares += from.squares + shift * shift * mine * theirs / total;
  }
  count_ += count;
}

void ColumnSummary::merge(const ColumnSummary& other) {
  if (other.count_ == 0) {
    return;
  }
  if (dimensions_.empty()) {
    dimensions_.resize(other.dimensions_.size());
  }
  if (!first_bad_) {
    first_bad_ = other.first_bad_;
  }
  num_bad_ += other.num_bad_;
  merge_dimensions(other.dimensions_, other.count_);
}

double ColumnSummary::std(size_t dim) const {
  return count_ > 0 ? std::sqrt(dimensions_[dim].squares / static_cast<double>(count_)) : 0.0;
}

schema::FeatureStats ColumnSummary::stats() const {
  schema::FeatureStats stats;
  stats.shape = {static_cast<int64_t>(dimensions_.size())};
  auto &low = stats.values["min"], &high = stats.values["max"], &mean = stats.values["mean"],
       &deviation = stats.values["std"];
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    low.push_back(dimensions_[d].min);
    high.push_back(dimensions_[d].max);
    mean.push_back(dimensions_[d].mean);
    deviation.push_back(std(d));
  }
  stats.values["count"] = {static_cast<double>(count_)};
  return stats;
}

}  // namespace flexor::data
