#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace flexor {

/// A 64-bit hash of a stream of bytes, at memory speed, the same on every machine and however the stream is cut. It
/// tells changed files from unchanged ones; it is no defence against somebody who wants two files to look equal.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes);
  /// Numbers, byte for byte (little endian machines).
  template <typename T>
  void add_values(std::span<const T> values) {
    add(std::as_bytes(values));
  }
  uint64_t value() const;

 private:
  static constexpr size_t kBlock = 32;
  void add_block(const std::byte* block);

  std::array<uint64_t, 4> lanes_ = {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU, 0xd6e8feb86659fd93U};
  std::array<std::byte, kBlock> rest_ = {};
  size_t rest_size_ = 0;
  uint64_t length_ = 0;
};

/// Of a whole file, read in pieces. @throws Error(kFile)
uint64_t hash_file(const std::string& path);

}  // namespace flexor
