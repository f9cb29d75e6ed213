#include "base/content_hash.h"

#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace flexor {
namespace {

uint64_t hash_of(std::string_view text, size_t piece) {
  ContentHash hash;
  for (size_t begin = 0; begin < text.size(); begin += piece) {
    const std::string_view part = text.substr(begin, piece);
    hash.add(std::as_bytes(std::span(part.data(), part.size())));
  }
  return hash.value();
}

TEST(ContentHash, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += static_cast<char>(i * 37 % 251);
  }
  const uint64_t whole = hash_of(text, text.size());
  for (const size_t piece : {1, 3, 31, 32, 33, 64, 999}) {
    EXPECT_EQ(hash_of(text, piece), whole) << piece;
  }
}

TEST(ContentHash, EveryBitAndTheLengthCount) {
  std::set<uint64_t> seen;
  const std::string text(100, 'x');
  seen.insert(hash_of(text, 100));
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      seen.insert(hash_of(other, 100));
    }
  }
  for (size_t zeros = 0; zeros < 100; ++zeros) {
    seen.insert(hash_of(std::string(zeros, '\0'), 100));
  }
  EXPECT_EQ(seen.size(), 1 + 800 + 100U);
}

TEST(ContentHash, FlipsHalfOfItsBits) {
  double flipped = 0;
  const std::string text(64, 'q');
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    flipped += static_cast<double>(__builtin_popcountll(hash_of(text, 64) ^ hash_of(other, 64)));
  }
  EXPECT_NEAR(flipped / 64, 32, 2);
}

TEST(ContentHash, OfAFileIsThatOfItsBytes) {
  std::string name = (std::filesystem::temp_directory_path() / "flexor_hash_XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  ::close(descriptor);
  const std::string text((size_t{1} << 20) * 2 + 17, 'a');
  write_file_atomic(name, text);
  EXPECT_EQ(hash_file(name), hash_of(text, text.size()));
  std::filesystem::remove(name);
  EXPECT_THROW(hash_file(name), Error);
}

}  // namespace
}  // namespace flexor
