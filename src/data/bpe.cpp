#include "data/bpe.h"

#include <algorithm>
#include <cstdio>
#include <queue>
#include <tuple>

namespace flexor::data {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// A possible merge of the symbols at `position` and after it; it is stale if either changed meanwhile.
struct Candidate {
  int32_t rank, position, left, right, merged;
  bool operator<(const Candidate& other) const {  // std::priority_queue hands out the largest
    return std::tie(other.rank, other.position) < std::tie(rank, position);
  }
};

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool too_large = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

bool Bpe::add_merge(const std::string& left, const std::string& right) {
  const int32_t a = find(left), b = find(right), merged = find(left + right);
  if (a < 0 || b < 0 || merged < 0) {
    return false;
  }
  const auto rank = static_cast<int32_t>(merges_.size());
  merges_.try_emplace(pair_key(a, b), Merge{rank, merged});
  return true;
}

bool Bpe::set_unknown(int32_t unk, bool byte_fallback, bool fuse_unk) {
  unk_ = unk;
  fuse_unk_ = fuse_unk;
  byte_ids_.clear();
  if (byte_fallback) {
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
      byte_ids_.push_back(find(name));
    }
  }
  return std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
}

int32_t Bpe::find(const std::string& piece) const {
  const auto it = vocab_.find(piece);
  return it == vocab_.end() ? -1 : it->second;
}

const Bpe::Merge* Bpe::merge_of(int32_t left, int32_t right) const {
  const auto it = merges_.find(pair_key(left, right));
  return it == merges_.end() ? nullptr : &it->second;
}

std::vector<Bpe::Symbol> Bpe::symbols(std::string_view text) const {
  std::vector<Symbol> result;
  result.reserve(text.size());
  bool after_unknown = false;
  const auto push = [&](int32_t id) {
    const auto index = static_cast<int32_t>(result.size());
    result.push_back({id, index - 1, index + 1});
  };
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string character(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
    bool unknown = false;
    if (const int32_t id = find(character); id >= 0) {
      push(id);
    } else if (!byte_ids_.empty()) {
      for (const char byte : character) {
        push(byte_ids_[static_cast<unsigned char>(byte)]);
      }
    } else {
      unknown = true;
      if (!(fuse_unk_ && after_unknown)) {
        push(unk_);
      }
    }
    after_unknown = unknown;
  }
  if (!result.empty()) {
    result.back().next = -1;
  }
  return result;
}

void Bpe::encode(std::string_view text, std::vector<int64_t>& ids) const {
  std::vector<Symbol> word = symbols(text);
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int32_t position) {
    const int32_t next = position < 0 ? -1 : word[position].next;
    if (next < 0) {
      return;
    }
    const int32_t left = word[position].id, right = word[next].id;
    if (const Merge* merge = merge_of(left, right)) {
      queue.push({merge->rank, position, left, right, merge->merged});
    }
  };
  for (size_t i = 0; i < word.size(); ++i) {
    offer(static_cast<int32_t>(i));
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& symbol = word[best.position];
    const int32_t next = symbol.next;
    if (symbol.id != best.left || next < 0 || word[next].id != best.right) {
      continue;
    }
    symbol.id = best.merged;
    symbol.next = word[next].next;
    word[next].id = -1;  // swallowed
    if (symbol.next >= 0) {
      word[symbol.next].previous = best.position;
    }
    offer(best.position);
    offer(symbol.previous);
  }
  for (int32_t i = word.empty() ? -1 : 0; i >= 0; i = word[i].next) {
    ids.push_back(word[i].id);
  }
}

}  // namespace flexor::data
