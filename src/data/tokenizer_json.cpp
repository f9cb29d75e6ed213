#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/added_tokens.h"
#include "data/bpe.h"
#include "data/tokenizer_model.h"

namespace flexor::data {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, what a space looks like inside pieces
constexpr int64_t kMaxId = 1 << 24;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

class TokenizerJson final : public Tokenizer::Model {
 public:
  explicit TokenizerJson(const std::string& file) {
    path = file;
    check_input_file(file);
    const Json json = Json::read_file(file);
    try {
      check_kind(json);
      read_model(json.at("model"));
      read_added_tokens(json);
      find_special(json.at("model"));
    } catch (const Error& error) {  // of a value that has another type
      throw Error(
          ErrorKind::kData, error.what(), file,
          error.hint().empty() ? "the file is damaged: copy it again from where the policy was found" : error.hint());
    }
  }

  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> ids;
    const auto token = [&](int32_t id) { ids.push_back(id); };
    const auto normalize_and_merge = [&](std::string_view plain) {
      const std::string normalized = replace_all(plain, " ", kSpace);
      after_.split_at_tokens(normalized, [&](std::string_view rest) { bpe_.encode(rest, ids); }, token);
    };
    before_.split_at_tokens(text, normalize_and_merge, token);
    return ids;
  }

  std::string decode(std::span<const int64_t> ids) const override {
    std::string text;
    for (const int64_t id : ids) {
      if (id != special.pad && id != special.eos && id != special.bos) {
        const std::string name = piece(id);
        text += is_byte(name) ? std::string(1, static_cast<char>(std::stoi(name.substr(3, 2), nullptr, 16))) : name;
      }
    }
    return replace_all(text, kSpace, " ");
  }

  std::string piece(int64_t id) const override {
    return id >= 0 && id < static_cast<int64_t>(pieces_.size()) ? pieces_[static_cast<size_t>(id)] : std::string();
  }
  std::string file_name() const override { return "tokenizer.json"; }

 private:
  static bool is_byte(const std::string& name) {
    const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    return name.size() == 6 && name.starts_with("<0x") && name[5] == '>' && is_digit(name[3]) && is_digit(name[4]);
  }
  int32_t checked_id(const Json& id, const std::string& name) const {
    const int64_t value = id.as_int();
    if (value < 0 || value > kMaxId) {
      throw Error(ErrorKind::kData, str_cat("token id ", value, " of \"", name, "\" is out of range"), path);
    }
    return static_cast<int32_t>(value);
  }
  void set_piece(int32_t id, const std::string& name) {
    std::string& piece = pieces_[static_cast<size_t>(id)];
    if (!piece.empty() && piece != name) {
      throw Error(ErrorKind::kData, str_cat("token id ", id, " stands for both \"", piece, "\" and \"", name, "\""),
                  path);
    }
    piece = name;
  }
  [[noreturn]] void wrong_kind(const std::string& what) const {
    throw Error(ErrorKind::kData, str_cat("tokenizer.json is not of the Gemma kind: ", what), path,
                "policy.tokenizer_path takes the PaliGemma tokenizer: its tokenizer.model or its tokenizer.json");
  }
  void check_kind(const Json& json) const;
  void read_model(const Json& model);
  void read_merges(const Json& merges);
  void read_added_tokens(const Json& json);
  void find_special(const Json& model);

  Bpe bpe_;
  std::vector<std::string> pieces_;
  AddedTokenFinder before_, after_;  // matched before or after spaces are replaced
};

/// "BPE", or "" if there is no such member.
std::string type_of(const Json* json) {
  const Json* type = json == nullptr ? nullptr : json->find("type");
  return type != nullptr && type->is_string() ? type->as_string() : std::string();
}

bool has_true(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

bool replaces_spaces(const Json& normalizer) {
  const Json* pattern = normalizer.find("pattern");
  const Json* from = pattern == nullptr ? nullptr : pattern->find("String");
  const Json* to = normalizer.find("content");
  return type_of(&normalizer) == "Replace" && from != nullptr && *from == Json(" ") && to != nullptr &&
         *to == Json(kSpace);
}

void TokenizerJson::check_kind(const Json& json) const {
  if (!json.is_object() || json.find("model") == nullptr) {
    wrong_kind("it has no `model`");
  }
  if (const std::string type = type_of(json.find("model")); type != "BPE" && !type.empty()) {
    wrong_kind("its model is " + type + ", expected BPE");
  }
  const Json* normalizer = json.find("normalizer");
  if (normalizer != nullptr && type_of(normalizer) == "Sequence") {
    const Json::Array& steps = normalizer->at("normalizers").as_array();
    normalizer = steps.size() == 1 ? &steps[0] : nullptr;
  }
  if (normalizer == nullptr || !replaces_spaces(*normalizer)) {
    wrong_kind("its normalizer is not one Replace of \" \" by U+2581");
  }
  // Gemma's file splits at spaces, of which the normaliser leaves none.
  const Json* pre = json.find("pre_tokenizer");
  if (pre != nullptr && !pre->is_null()) {
    const Json* pattern = pre->find("pattern");
    const Json* text = pattern == nullptr ? nullptr : pattern->find("String");
    if (type_of(pre) != "Split" || text == nullptr || *text != Json(" ")) {
      wrong_kind("its pre_tokenizer is " + type_of(pre) + ", expected none or Split at \" \"");
    }
  }
}

void TokenizerJson::read_model(const Json& model) {
  const Json::Object& members = model.at("vocab").as_object();
  std::unordered_map<std::string, int32_t> vocab(members.size());
  for (const auto& [name, id] : members) {
    const int32_t value = checked_id(id, name);
    vocab.emplace(name, value);
    vocab_size = std::max<int64_t>(vocab_size, value + 1);
  }
  pieces_.resize(static_cast<size_t>(vocab_size));
  for (const auto& [name, id] : members) {
    set_piece(static_cast<int32_t>(id.as_int()), name);
  }
  bpe_.set_vocab(std::move(vocab));
  read_merges(model.at("merges"));
}

void TokenizerJson::read_merges(const Json& merges) {
  const Json::Array& list = merges.as_array();
  bpe_.reserve_merges(list.size());
  for (size_t rank = 0; rank < list.size(); ++rank) {
    const Json& merge = list[rank];
    bool known = false;
    if (merge.is_string()) {  // older files: "left right"
      const std::string& text = merge.as_string();
      const size_t space = text.find(' ');
      known = space != std::string::npos && bpe_.add_merge(text.substr(0, space), text.substr(space + 1));
    } else if (merge.is_array() && merge.size() == 2) {
      const Json::Array& pair = merge.as_array();
      known = bpe_.add_merge(pair[0].as_string(), pair[1].as_string());
    }
    if (!known) {
      throw Error(ErrorKind::kData,
                  str_cat("merge ", rank, " is not a pair of pieces of the vocabulary: ", merge.dump()), path);
    }
  }
}

void TokenizerJson::read_added_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  if (const Json* list = json.find("added_tokens")) {
    for (const Json& item : list->as_array()) {
      AddedToken token{.content = item.at("content").as_string(),
                       .id = checked_id(item.at("id"), item.at("content").as_string()),
                       .normalized = has_true(item, "normalized"),
                       .special = has_true(item, "special")};
      if (has_true(item, "single_word") || has_true(item, "lstrip") || has_true(item, "rstrip")) {
        wrong_kind("added token \"" + token.content + "\" has single_word, lstrip or rstrip");
      }
      if (!token.content.empty()) {
        tokens.push_back(std::move(token));
      }
    }
  }
  // Special tokens beyond the vocabulary (PaliGemma's <image>, id 257152) have no row in a policy's embedding table and
  // never stand for text: SentencePiece reads such words as plain text, and so do we.
  for (const AddedToken& token : tokens) {
    if (!token.special) {
      vocab_size = std::max<int64_t>(vocab_size, token.id + 1);
    }
  }
  pieces_.resize(static_cast<size_t>(vocab_size));
  for (const AddedToken& token : tokens) {
    if (token.id < vocab_size) {
      set_piece(token.id, token.content);
      (token.normalized ? after_ : before_).add(token);
    }
  }
  before_.finish();
  after_.finish();
}

void TokenizerJson::find_special(const Json& model) {
  const auto id_of = [&](const std::string& name) {
    const auto it = std::find(pieces_.begin(), pieces_.end(), name);
    return it == pieces_.end() ? int64_t{-1} : it - pieces_.begin();
  };
  special = {.pad = id_of("<pad>"), .eos = id_of("<eos>"), .bos = id_of("<bos>"), .unk = id_of("<unk>")};
  if (special.bos < 0 || special.pad < 0) {
    wrong_kind(str_cat("it has no ", special.bos < 0 ? "<bos>" : "<pad>"));
  }
  const bool byte_fallback = has_true(model, "byte_fallback");
  if (!byte_fallback && special.unk < 0) {
    wrong_kind("it has neither byte_fallback nor <unk>");
  }
  if (!bpe_.set_unknown(static_cast<int32_t>(special.unk), byte_fallback, has_true(model, "fuse_unk"))) {
    wrong_kind("byte_fallback needs the 256 pieces <0x00> to <0xFF>");
  }
}

}  // namespace

std::shared_ptr<const Tokenizer::Model> open_tokenizer_json(const std::string& path) {
  return std::make_shared<TokenizerJson>(path);
}

}  // namespace flexor::data
