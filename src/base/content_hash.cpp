#include "base/content_hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include "base/file.h"
#include "base/file_errors.h"
#include "base/interrupt.h"

namespace flexor {
namespace {

/// Spreads every bit over all 64 (the finaliser of splitmix64).
uint64_t spread(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

void ContentHash::add_block(const std::byte* block) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    uint64_t word;
    std::memcpy(&word, block + i * sizeof(word), sizeof(word));
    const uint64_t mixed = (lanes_[i] ^ word) * 0xff51afd7ed558ccdU;  // every step is one to one: nothing is lost
    lanes_[i] = mixed ^ (mixed >> 29);
  }
}

void ContentHash::add(std::span<const std::byte> bytes) {
  length_ += bytes.size();
  if (rest_size_ > 0) {
    const size_t count = std::min(kBlock - rest_size_, bytes.size());
    std::copy_n(bytes.begin(), count, rest_.begin() + static_cast<ptrdiff_t>(rest_size_));
    rest_size_ += count;
    bytes = bytes.subspan(count);
    if (rest_size_ < kBlock) {
      return;
    }
    add_block(rest_.data());
    rest_size_ = 0;
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) {
    add_block(bytes.data());
  }
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  rest_size_ = bytes.size();
}

uint64_t ContentHash::value() const {
  ContentHash last = *this;
  std::fill(last.rest_.begin() + static_cast<ptrdiff_t>(rest_size_), last.rest_.end(), std::byte{0});
  last.add_block(last.rest_.data());
  uint64_t hash = spread(length_);
  for (const uint64_t lane : last.lanes_) {
    hash = spread(hash ^ lane) * 0xc4ceb9fe1a85ec53U;
  }
  return spread(hash);
}

uint64_t hash_file(const std::string& path) {
  check_input_file(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw_file_error("cannot open the file", path, errno);
  }
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<std::byte> piece(kPiece);
  ContentHash hash;
  ssize_t count = 0;
  int code = 0;
  do {
    count = ::read(descriptor, piece.data(), piece.size());
    code = count < 0 ? errno : 0;
    if (count > 0) {
      hash.add(std::span(piece).first(static_cast<size_t>(count)));
    }
  } while ((count > 0 || code == EINTR) && !interrupted() && !terminated());
  ::close(descriptor);
  if (code != 0 && code != EINTR) {
    throw_file_error("cannot read the file", path, code);
  }
  check_interrupt();
  return hash.value();
}

}  // namespace flexor
