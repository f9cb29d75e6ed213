#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "data/column.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// Consecutive frames of one episode in a column: rows [first_row, first_row + count) of `column`, of which the first
/// is frame `first_frame` of the episode.
struct ColumnPiece {
  const Column* column = nullptr;
  int64_t first_row = 0, count = 0, first_frame = 0;

  double at(int64_t k, int64_t dim = 0) const { return column->at(first_row + k, dim); }
};

/// Running minimum, maximum, mean and standard deviation of a column's dimensions in float64; pieces and summaries are
/// merged by Chan's formulas. Values that are not finite are counted; the summary is then void.
class ColumnSummary {
 public:
  struct Dimension {
    double min = 0, max = 0, mean = 0, squares = 0;  ///< squares: sum of (x - mean)^2
  };
  struct BadValue {
    int64_t frame = 0, dim = 0;
    double value = 0;
  };

  void add(const ColumnPiece& piece);
  void merge(const ColumnSummary& other);

  int64_t count() const { return count_; }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  const std::optional<BadValue>& first_bad() const { return first_bad_; }  ///< frame in the episode
  int64_t num_bad() const { return num_bad_; }
  double std(size_t dim) const;        ///< of the population
  schema::FeatureStats stats() const;  ///< min, max, mean, std, count

 private:
  template <typename T>
  void add_values(const T* values, int64_t rows, int64_t first_frame);
  template <typename T>
  void note_bad(const T* values, int64_t rows, int64_t first_frame);
  void merge_dimensions(const std::vector<Dimension>& dimensions, int64_t count);

  int64_t count_ = 0, num_bad_ = 0;
  std::vector<Dimension> dimensions_;
  std::optional<BadValue> first_bad_;
};

}  // namespace flexor::data
