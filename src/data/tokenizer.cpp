#include "data/tokenizer.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/tokenizer_model.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

/// The start of a text, for a message.
std::string shortened(const std::string& text) {
  constexpr size_t kMax = 60;
  return text.size() <= kMax ? text : text.substr(0, kMax) + "...";
}

}  // namespace

Error missing_tokenizer(const std::string& what, const std::string& where) {
  return {
      ErrorKind::kFile, what, where,
      "policy.tokenizer_path=FILE_OR_FOLDER; the PaliGemma tokenizer of the Hub is gated and Flexor never goes online: "
      "accept its licence there and download tokenizer.model or tokenizer.json yourself"};
}

std::string find_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    return path;
  }
  for (const char* name :
       {"tokenizer.model", "tokenizer.json", "tokenizer/tokenizer.model", "tokenizer/tokenizer.json"}) {
    if (const fs::path file = fs::path(path) / name; fs::is_regular_file(file, ignored)) {
      return file.string();
    }
  }
  return {};
}

Tokenizer Tokenizer::open(const std::string& path) {
  const std::string file = find_tokenizer(path);
  if (file.empty()) {
    std::error_code ignored;
    const bool exists = !path.empty() && fs::exists(path, ignored);
    throw missing_tokenizer(exists ? "no tokenizer.model or tokenizer.json in this folder" : "no such tokenizer",
                            path.empty() ? "policy.tokenizer_path" : path);
  }
  return Tokenizer(fs::path(file).extension() == ".json" ? open_tokenizer_json(file) : open_sentencepiece(file));
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  return model_->encode(text);
}
std::string Tokenizer::decode(std::span<const int64_t> ids) const {
  return model_->decode(ids);
}
int64_t Tokenizer::vocab_size() const {
  return model_->vocab_size;
}
const SpecialIds& Tokenizer::special() const {
  return model_->special;
}
const std::string& Tokenizer::path() const {
  return model_->path;
}

std::string Tokenizer::piece(int64_t id) const {
  if (id < 0 || id >= vocab_size()) {
    throw Error(ErrorKind::kData, str_cat("no token ", id, ", the vocabulary has ", vocab_size()), path());
  }
  return model_->piece(id);
}

TokenBatch Tokenizer::encode_batch(std::span<const std::string> texts, int64_t max_length) const {
  const auto batch = static_cast<int64_t>(texts.size());
  TokenBatch result{.tokens = at::full({batch, max_length}, special().pad, at::kLong),
                    .mask = at::zeros({batch, max_length}, at::kBool)};
  int64_t* tokens = result.tokens.mutable_data_ptr<int64_t>();
  bool* mask = result.mask.mutable_data_ptr<bool>();
  for (int64_t b = 0; b < batch; ++b) {
    const std::string& text = texts[static_cast<size_t>(b)];
    std::vector<int64_t> ids = encode(text);
    ids.insert(ids.begin(), special().bos);
    const auto length = static_cast<int64_t>(ids.size());
    if (length > max_length) {
      throw Error(ErrorKind::kData,
                  str_cat("prompt has ", length, " tokens, policy.tokenizer_max_length is ", max_length),
                  "prompt \"" + shortened(text) + "\"",
                  str_cat("policy.tokenizer_max_length=", length, " or more: a prompt that is cut loses its end"));
    }
    std::copy(ids.begin(), ids.end(), tokens + b * max_length);
    std::fill_n(mask + b * max_length, length, true);
  }
  return result;
}

void Tokenizer::save(const std::string& folder) const {
  const fs::path target(folder);
  write_file_atomic((target / model_->file_name()).string(), read_file(path()));
  const fs::path beside = fs::path(path()).parent_path() / "tokenizer_config.json";
  std::error_code ignored;
  if (fs::is_regular_file(beside, ignored)) {
    write_file_atomic((target / "tokenizer_config.json").string(), read_file(beside.string()));
    return;
  }
  Json config =
      Json::object({{"tokenizer_class", "GemmaTokenizer"}, {"add_bos_token", true}, {"add_eos_token", false}});
  const SpecialIds& ids = special();
  for (const auto& [name, id] : {std::pair{"bos_token", ids.bos}, std::pair{"eos_token", ids.eos},
                                 std::pair{"pad_token", ids.pad}, std::pair{"unk_token", ids.unk}}) {
    if (id >= 0) {
      config[name] = piece(id);
    }
  }
  write_file_atomic((target / "tokenizer_config.json").string(), config.dump(2));
}

void check_vocabulary(const Tokenizer& tokenizer, int64_t embedding_rows) {
  const int64_t size = tokenizer.vocab_size();
  const bool too_small =
      size * 100 < embedding_rows * 99;  // Gemma's own 256000 of PaliGemma's 257152 are the same words
  const bool too_large =
      size * 100 > embedding_rows * 101;  // Hugging Face's PaliGemma has one more, <image>, that no prompt contains
  if (too_large || too_small) {
    throw Error(ErrorKind::kData,
                str_cat("tokenizer has ", size, " tokens, the policy's embedding table has ", embedding_rows, " rows"),
                tokenizer.path(),
                too_small ? "use the tokenizer that the policy was trained with: policy.tokenizer_path=..."
                          : "use the policy's own tokenizer, or a policy with policy.architecture.vocab_size of " +
                                std::to_string(size));
  }
}

}  // namespace flexor::data
