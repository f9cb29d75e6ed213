#include "recap/value_prompt.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/log.h"
#include "data/prompt.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// Lower case of one code point of at most two UTF-8 bytes; others are returned as they are.
uint32_t lower_code(uint32_t c) {
  const auto in = [c](uint32_t first, uint32_t last) { return c >= first && c <= last; };
  if (in('A', 'Z') || (in(0xC0, 0xDE) && c != 0xD7) || (in(0x391, 0x3AB) && c != 0x3A2) || in(0x410, 0x42F)) {
    return c + 32;
  }
  if (in(0x400, 0x40F)) {
    return c + 80;
  }
  const bool even_pair = in(0x100, 0x12F) || in(0x132, 0x137) || in(0x14A, 0x177) || in(0x460, 0x481) ||
                         in(0x48A, 0x4BF) || in(0x4D0, 0x52F);
  if (even_pair) {
    return c | 1U;
  }
  if (in(0x139, 0x148) || in(0x179, 0x17E)) {
    return c % 2 == 1 ? c + 1 : c;
  }
  return c == 0x178 ? 0xFF : c;
}

std::string lower_text(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    const bool two_bytes = first >= 0xC2 && first < 0xE0 && i + 1 < text.size() &&
                           (static_cast<unsigned char>(text[i + 1]) & 0xC0U) == 0x80;
    if (!two_bytes) {
      result += first < 0x80 ? static_cast<char>(lower_code(first)) : text[i];
      continue;
    }
    const uint32_t code = lower_code((first & 0x1FU) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3FU));
    result += static_cast<char>(0xC0U | code >> 6U);
    result += static_cast<char>(0x80U | (code & 0x3FU));
  }
  return result;
}

}  // namespace

std::string clean_value_task(std::string_view task) {
  constexpr std::string_view kPunctuation = "!#$%&()*+,-./:;<=>?@[\\]^_`{|}~";
  std::string cleaned = data::clean_task(lower_text(task));
  if (!cleaned.empty() && kPunctuation.find(cleaned.back()) != std::string_view::npos) {
    cleaned.pop_back();
  }
  return cleaned;
}

std::string value_prompt(std::string_view task) {
  return "Task: " + clean_value_task(task) + ".";
}

std::string steam_prompt(std::string_view task) {
  return "Task: " + clean_value_task(task) + "\nValue: ";
}

data::TokenBatch pad_tokens(std::span<const std::vector<int64_t>> ids, const data::SpecialIds& special,
                            int64_t max_length) {
  const auto batch = static_cast<int64_t>(ids.size());
  data::TokenBatch result{.tokens = at::full({batch, max_length}, special.pad, at::kLong),
                          .mask = at::zeros({batch, max_length}, at::kBool)};
  auto* tokens = result.tokens.mutable_data_ptr<int64_t>();
  bool* mask = result.mask.mutable_data_ptr<bool>();
  for (size_t b = 0; b < ids.size(); ++b) {
    const auto count = std::min<int64_t>(max_length - 1, static_cast<int64_t>(ids[b].size()));
    tokens[0] = special.bos;
    std::copy_n(ids[b].begin(), count, tokens + 1);
    std::fill_n(mask, count + 1, true);
    tokens += max_length;
    mask += max_length;
  }
  return result;
}

data::TokenBatch encode_prompts(const data::Tokenizer& tokenizer, std::span<const std::string> prompts,
                                int64_t max_length) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  std::vector<std::vector<int64_t>> ids;
  for (const std::string& prompt : prompts) {
    ids.push_back(tokenizer.encode(prompt));
    if (static_cast<int64_t>(ids.back().size()) + 1 > max_length) {
      const std::lock_guard lock(mutex);
      if (warned.insert(prompt).second) {
        log_warn("a prompt is cut",
                 {{"tokens", ids.back().size() + 1}, {"max_token_len", max_length}, {"prompt", prompt}});
      }
    }
  }
  return pad_tokens(ids, tokenizer.special(), max_length);
}

}  // namespace flexor::recap
