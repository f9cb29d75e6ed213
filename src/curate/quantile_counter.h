#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "data/dimension_stats.h"
#include "data/order_statistics.h"

namespace flexor::curate {

using Quantiles = std::array<double, data::kQuantiles.size()>;

/// The exact quantiles of some neighbouring dimensions of rows that are shown several times (data/order_statistics.h).
template <typename T>
class QuantileCounter {
 public:
  using Counts = std::vector<typename data::OrderStatistics<T>::Counts>;  ///< of one thread in one pass, by dimension

  /// @param num_rows  that will be shown in each pass, fewer than 2^32
  QuantileCounter(int64_t num_rows, int64_t first_dim, int64_t num_dims);

  bool done() const { return dims_[0].done(); }
  Counts make_counts() const;
  /// @param rows  [n, width], row-major
  void count(const T* rows, int64_t n, int64_t width, Counts& counts) const;
  void end_pass(const std::vector<Counts>& counts);  ///< of every thread

  int64_t first_dim() const { return first_dim_; }
  std::vector<Quantiles> quantiles() const;  ///< of each dimension; when done()

 private:
  int64_t first_dim_;
  std::vector<data::QuantilePlace> places_;
  std::vector<data::OrderStatistics<T>> dims_;  ///< the value below and the one above each place
};

extern template class QuantileCounter<float>;
extern template class QuantileCounter<double>;
extern template class QuantileCounter<int64_t>;
extern template class QuantileCounter<uint8_t>;

/// Counts of one pass of a QuantileCounter, one set for each thread that is at work.
template <typename T>
class SharedCounts {
 public:
  using Counts = typename QuantileCounter<T>::Counts;

  template <typename Body>
  void with(const QuantileCounter<T>& counter, const Body& body) {
    Counts counts = take(counter);
    body(counts);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(counts));
  }
  std::vector<Counts> all() { return std::move(free_); }

 private:
  Counts take(const QuantileCounter<T>& counter) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      return counter.make_counts();
    }
    Counts counts = std::move(free_.back());
    free_.pop_back();
    return counts;
  }

  std::mutex mutex_;
  std::vector<Counts> free_;
};

}  // namespace flexor::curate
