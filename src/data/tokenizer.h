#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace flexor::data {

/// Ids of the control tokens, as the tokenizer's file gives them.
struct SpecialIds {
  int64_t pad = 0, eos = 1, bos = 2, unk = 3;
  friend bool operator==(const SpecialIds&, const SpecialIds&) = default;
};

/// Prompts as the model takes them. Axes: B prompts, L = max_length.
struct TokenBatch {
  at::Tensor tokens;  ///< [B, L] int64: bos, the text's tokens, then pad
  at::Tensor mask;    ///< [B, L] bool, true up to the last token of the text
};

/// Text <-> token ids of a Gemma-style vocabulary, from a SentencePiece model (`*.model`) or from a Hugging Face
/// `tokenizer.json`; both give the same ids. Cheap to copy; const calls are thread-safe.
/// The two forms differ on literal control strings: SentencePiece never reads "<bos>" in a text as the token.
class Tokenizer {
 public:
  /// @param path  a file of either kind, or a folder that holds tokenizer.model, tokenizer.json or a folder `tokenizer`
  ///              with one of them (the .model is preferred)
  /// @throws Error(kFile) if there is none, Error(kData) if the file is of another kind or damaged
  static Tokenizer open(const std::string& path);

  /// Ids of the text alone, without bos.
  std::vector<int64_t> encode(std::string_view text) const;
  /// Text of ids; control tokens give nothing.
  std::string decode(std::span<const int64_t> ids) const;
  /// Pieces as the vocabulary writes them, for messages and tests.
  std::string piece(int64_t id) const;

  /// bos + text, padded on the right to `max_length`.
  /// @throws Error(kData) naming policy.tokenizer_max_length if a prompt has more tokens: it would be cut
  TokenBatch encode_batch(std::span<const std::string> texts, int64_t max_length) const;

  int64_t vocab_size() const;
  const SpecialIds& special() const;
  const std::string& path() const;  ///< the file that was read

  /// Puts a copy of the file into `folder` (made when missing) under its standard name, with the small
  /// tokenizer_config.json that the reference's loader wants. @throws Error(kFile)
  void save(const std::string& folder) const;

  struct Model;

 private:
  explicit Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const Model> model_;
};

/// The file that Tokenizer::open(path) would read, or "" if there is none below `path`.
std::string find_tokenizer(const std::string& path);

/// @throws Error(kData) if the number of ids differs by over 1 % from the rows of the policy's embedding table: then
///         the tokenizer belongs to another model, and its ids would mean other words
void check_vocabulary(const Tokenizer& tokenizer, int64_t embedding_rows);

/// The error to throw where a tokenizer is needed and there is none: says how to name one and why none is fetched.
Error missing_tokenizer(const std::string& what, const std::string& where);

}  // namespace flexor::data
