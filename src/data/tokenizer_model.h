#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace flexor::data {

/// One kind of tokenizer file behind data::Tokenizer. Immutable after construction.
struct Tokenizer::Model {
  virtual ~Model() = default;
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const int64_t> ids) const = 0;
  virtual std::string piece(int64_t id) const = 0;
  virtual std::string file_name() const = 0;  ///< standard name of this kind of file

  std::string path;
  SpecialIds special;
  int64_t vocab_size = 0;
};

/// @throws Error(kFile), Error(kData)
std::shared_ptr<const Tokenizer::Model> open_sentencepiece(const std::string& path);
std::shared_ptr<const Tokenizer::Model> open_tokenizer_json(const std::string& path);

}  // namespace flexor::data
