#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flexor::data {

/// Byte-pair encoding with byte fallback, as Hugging Face's `BPE` model does it: symbols are characters (or, unknown
/// ones, their bytes `<0xNN>`); the pair with the lowest rank merges first, the leftmost of equal ones.
class Bpe {
 public:
  /// @param vocab  piece -> id; ids are 0..n-1 with possible holes
  void set_vocab(std::unordered_map<std::string, int32_t> vocab) { vocab_ = std::move(vocab); }
  void reserve_merges(size_t count) { merges_.reserve(count); }
  /// Adds the merge of the next rank. Returns false if a piece or the merged piece is not in the vocabulary.
  bool add_merge(const std::string& left, const std::string& right);
  /// What characters outside the vocabulary become. Returns false if byte fallback is wanted, but a byte has no piece.
  bool set_unknown(int32_t unk, bool byte_fallback, bool fuse_unk);

  /// Id of a piece, -1 if there is none.
  int32_t find(const std::string& piece) const;
  /// Appends the ids of `text` (valid UTF-8; other bytes count as U+FFFD) to `ids`.
  void encode(std::string_view text, std::vector<int64_t>& ids) const;

 private:
  struct Merge {
    int32_t rank, merged;
  };
  struct Symbol {
    int32_t id, previous, next;
  };
  std::vector<Symbol> symbols(std::string_view text) const;
  const Merge* merge_of(int32_t left, int32_t right) const;

  std::unordered_map<std::string, int32_t> vocab_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::vector<int32_t> byte_ids_;  // 256 ids, empty without byte fallback
  int32_t unk_ = -1;
  bool fuse_unk_ = false;
};

/// Length in bytes of the valid UTF-8 character at the start of `text`, 0 if there is none (not empty).
size_t utf8_length(std::string_view text);

}  // namespace flexor::data
