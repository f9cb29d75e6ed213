#include "curate/quantile_counter.h"

#include <algorithm>
#include <functional>

namespace flexor::curate {

template <typename T>
QuantileCounter<T>::QuantileCounter(int64_t num_rows, int64_t first_dim, int64_t num_dims) : first_dim_(first_dim) {
  std::vector<int64_t> ranks;
  for (const auto& [name, q] : data::kQuantiles) {
    places_.push_back(data::quantile_place(q, num_rows));
    ranks.push_back(places_.back().below);
    ranks.push_back(std::min(places_.back().below + 1, num_rows - 1));
  }
  dims_.assign(static_cast<size_t>(num_dims), data::OrderStatistics<T>(ranks));
}

template <typename T>
typename QuantileCounter<T>::Counts QuantileCounter<T>::make_counts() const {
  Counts counts;
  for (const auto& dim : dims_) {
    counts.push_back(dim.make_counts());
  }
  return counts;
}

template <typename T>
void QuantileCounter<T>::count(const T* rows, int64_t n, int64_t width, Counts& counts) const {
  constexpr int64_t kBlock = 4096;  // rows that stay in the second cache while each dimension is counted
  for (int64_t row = 0; row < n; row += kBlock) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      dims_[d].count(rows + row * width + first_dim_ + static_cast<int64_t>(d), std::min(kBlock, n - row), width,
                     counts[d]);
    }
  }
}

template <typename T>
void QuantileCounter<T>::end_pass(const std::vector<Counts>& counts) {
  for (size_t d = 0; d < dims_.size(); ++d) {
    auto sum = dims_[d].make_counts();
    for (const Counts& of_thread : counts) {
      std::ranges::transform(sum, of_thread[d], sum.begin(), std::plus<>());
    }
    dims_[d].end_pass(sum);
  }
}

template <typename T>
std::vector<Quantiles> QuantileCounter<T>::quantiles() const {
  std::vector<Quantiles> result(dims_.size());
  for (size_t d = 0; d < dims_.size(); ++d) {
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto below = static_cast<double>(dims_[d].value(2 * i));
      const auto above = static_cast<double>(dims_[d].value(2 * i + 1));
      result[d][i] = below + places_[i].fraction * (above - below);
    }
  }
  return result;
}

template class QuantileCounter<float>;
template class QuantileCounter<double>;
template class QuantileCounter<int64_t>;
template class QuantileCounter<uint8_t>;

}  // namespace flexor::curate
