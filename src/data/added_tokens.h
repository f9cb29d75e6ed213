#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::data {

/// A word of a tokenizer.json that becomes one token wherever it stands in a text.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool normalized = false;
  bool special = false;
};

/// Finds added tokens in a text: leftmost, and of those the longest. Add all, then finish(), then search.
class AddedTokenFinder {
 public:
  void add(const AddedToken& token) { by_first_byte_[static_cast<unsigned char>(token.content[0])].push_back(token); }
  void finish() {
    for (auto& tokens : by_first_byte_) {
      std::stable_sort(tokens.begin(), tokens.end(),
                       [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
    }
  }
  /// Calls plain(text) and token(id) for the pieces of `text`, in order.
  template <typename Plain, typename Token>
  void split_at_tokens(std::string_view text, const Plain& plain, const Token& token) const {
    size_t begin = 0, at = 0;
    while (at < text.size()) {
      const AddedToken* found = match(text.substr(at));
      if (found == nullptr) {
        ++at;
        continue;
      }
      if (at > begin) {
        plain(text.substr(begin, at - begin));
      }
      token(found->id);
      begin = at += found->content.size();
    }
    if (at > begin) {
      plain(text.substr(begin));
    }
  }

 private:
  const AddedToken* match(std::string_view text) const {
    for (const AddedToken& token : by_first_byte_[static_cast<unsigned char>(text[0])]) {
      if (text.starts_with(token.content)) {
        return &token;
      }
    }
    return nullptr;
  }
  std::array<std::vector<AddedToken>, 256> by_first_byte_;
};

}  // namespace flexor::data
