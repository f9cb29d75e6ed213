#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flexor::data {

/// An unsigned integer that sorts as the value does: -0 and 0 are equal, NaN has no place.
inline uint32_t sort_key(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 0.0F);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
inline uint64_t sort_key(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000U;
}
inline uint64_t sort_key(int64_t value) {
  return static_cast<uint64_t>(value) ^ 0x8000000000000000U;
}
inline uint16_t sort_key(uint8_t value) {
  return value;
}

/// Finds the k-th smallest values of a stream that is shown several times, in memory that does not depend on its
/// length: pass by pass the values are counted by 16 bits of their sort key, from the highest on, and only those go on
/// whose higher bits are those of a wanted one. Two passes for float, four for double and int64, one for bool.
/// Exact; the order of the values and how they are shared among threads do not matter.
template <typename T>
class OrderStatistics {
 public:
  using Key = decltype(sort_key(T{}));
  using Counts = std::vector<uint32_t>;  ///< of one thread in one pass

  /// @param ranks  each k from 0, in any order; of a stream with fewer than 2^32 values
  explicit OrderStatistics(std::vector<int64_t> ranks);

  bool done() const { return pass_ == kPasses; }
  Counts make_counts() const { return Counts(std::max<size_t>(prefixes_.size(), 1) * kBins); }
  /// Counts values[0], values[stride], ..., n of them.
  void count(const T* values, int64_t n, int64_t stride, Counts& counts) const;
  /// @param counts  of all threads together
  void end_pass(const Counts& counts);

  T value(size_t i) const;  ///< of the i-th rank; when done()

 private:
  static constexpr int kDigit = 16;
  static constexpr size_t kBins = size_t{1} << kDigit;
  static constexpr int kPasses = static_cast<int>(sizeof(Key) * 8 / kDigit);

  int shift() const { return static_cast<int>(sizeof(Key)) * 8 - kDigit * (pass_ + 1); }
  size_t slot_of(Key key) const;

  int pass_ = 0;
  std::vector<int64_t> ranks_;         ///< among the values that share the wanted one's higher bits
  std::vector<uint64_t> found_;        ///< higher bits of each wanted value
  std::vector<uint64_t> prefixes_;     ///< the different ones among them, ascending; empty in the first pass
  std::vector<uint8_t> first_digits_;  ///< [kBins]: 0, or 1 + the first prefix that begins with this digit
};

extern template class OrderStatistics<float>;
extern template class OrderStatistics<double>;
extern template class OrderStatistics<int64_t>;
extern template class OrderStatistics<uint8_t>;

}  // namespace flexor::data
