#include "data/order_statistics.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace flexor::data {
namespace {

float value_of_key(uint32_t key, float) {
  return std::bit_cast<float>((key >> 31) != 0 ? key & 0x7fffffffU : ~key);
}
double value_of_key(uint64_t key, double) {
  return std::bit_cast<double>((key >> 63) != 0 ? key & 0x7fffffffffffffffU : ~key);
}
int64_t value_of_key(uint64_t key, int64_t) {
  return static_cast<int64_t>(key ^ 0x8000000000000000U);
}
uint8_t value_of_key(uint16_t key, uint8_t) {
  return static_cast<uint8_t>(key);
}

}  // namespace

template <typename T>
OrderStatistics<T>::OrderStatistics(std::vector<int64_t> ranks) : ranks_(std::move(ranks)), found_(ranks_.size()) {}

/// The prefix that `key` begins with, or the number of prefixes.
template <typename T>
size_t OrderStatistics<T>::slot_of(Key key) const {
  const auto high = static_cast<uint64_t>(key) >> (shift() + kDigit);
  size_t slot = first_digits_[high >> (kDigit * (pass_ - 1))];
  if (slot == 0) {
    return prefixes_.size();
  }
  for (--slot; slot < prefixes_.size() && prefixes_[slot] < high;) {
    ++slot;
  }
  return slot < prefixes_.size() && prefixes_[slot] == high ? slot : prefixes_.size();
}

template <typename T>
void OrderStatistics<T>::count(const T* values, int64_t n, int64_t stride, Counts& counts) const {
  if (pass_ == 0) {
    uint32_t* const bins = counts.data();
    const int by = shift();
    for (int64_t i = 0; i < n; ++i) {
      ++bins[sort_key(values[i * stride]) >> by];
    }
    return;
  }
  const int by = shift() + kDigit * pass_;  // leaves the first digit
  for (int64_t i = 0; i < n; ++i) {
    const Key key = sort_key(values[i * stride]);
    if (first_digits_[static_cast<size_t>(key >> by)] != 0) {
      if (const size_t slot = slot_of(key); slot < prefixes_.size()) {
        ++counts[slot * kBins + ((static_cast<uint64_t>(key) >> shift()) & (kBins - 1))];
      }
    }
  }
}

template <typename T>
void OrderStatistics<T>::end_pass(const Counts& counts) {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const size_t slot =
        pass_ == 0 ? 0 : static_cast<size_t>(std::ranges::lower_bound(prefixes_, found_[i]) - prefixes_.begin());
    const uint32_t* const bins = counts.data() + slot * kBins;
    size_t bin = 0;
    while (bin + 1 < kBins && ranks_[i] >= int64_t{bins[bin]}) {
      ranks_[i] -= bins[bin++];
    }
    found_[i] = (found_[i] << kDigit) | bin;
  }
  ++pass_;
  prefixes_ = found_;
  std::ranges::sort(prefixes_);
  prefixes_.erase(std::unique(prefixes_.begin(), prefixes_.end()), prefixes_.end());
  first_digits_.assign(kBins, 0);
  for (size_t i = prefixes_.size(); i-- > 0;) {
    first_digits_[prefixes_[i] >> (kDigit * (pass_ - 1))] = static_cast<uint8_t>(i + 1);
  }
}

template <typename T>
T OrderStatistics<T>::value(size_t i) const {
  assert(done());
  return value_of_key(static_cast<Key>(found_[i]), T{});
}

template class OrderStatistics<float>;
template class OrderStatistics<double>;
template class OrderStatistics<int64_t>;
template class OrderStatistics<uint8_t>;

}  // namespace flexor::data
