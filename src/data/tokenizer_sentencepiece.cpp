#include <sentencepiece_processor.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "data/tokenizer_model.h"

namespace flexor::data {
namespace {

class SentencePieceModel final : public Tokenizer::Model {
 public:
  explicit SentencePieceModel(const std::string& file) {
    path = file;
    check_input_file(file);
    const std::string bytes = read_file(file);
    if (bytes.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw Error(ErrorKind::kData, "tokenizer file is empty", file);
    }
    if (const auto status = processor_.LoadFromSerializedProto(bytes); !status.ok()) {
      throw Error(ErrorKind::kData, str_cat("not a SentencePiece model: ", status.ToString()), file,
                  "policy.tokenizer_path takes a SentencePiece *.model or a Hugging Face tokenizer.json");
    }
    vocab_size = processor_.GetPieceSize();
    special = {
        .pad = processor_.pad_id(), .eos = processor_.eos_id(), .bos = processor_.bos_id(), .unk = processor_.unk_id()};
    if (special.bos < 0 || special.pad < 0) {
      throw Error(ErrorKind::kData,
                  str_cat("tokenizer has no ", special.bos < 0 ? "bos" : "pad", " token, which the prompt needs"),
                  file);
    }
  }

  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    check(processor_.Encode({text.data(), text.size()}, &ids));
    return {ids.begin(), ids.end()};
  }

  std::string decode(std::span<const int64_t> ids) const override {
    std::string text;
    check(processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text));
    return text;
  }

  std::string piece(int64_t id) const override { return processor_.IdToPiece(static_cast<int>(id)); }
  std::string file_name() const override { return "tokenizer.model"; }

 private:
  void check(const sentencepiece::util::Status& status) const {
    if (!status.ok()) {
      throw Error(ErrorKind::kData, str_cat("tokenizer: ", status.ToString()), path);
    }
  }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::shared_ptr<const Tokenizer::Model> open_sentencepiece(const std::string& path) {
  return std::make_shared<SentencePieceModel>(path);
}

}  // namespace flexor::data
