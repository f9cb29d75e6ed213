#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace flexor::recap {

/// A task as RECAP's value models read it: lower case (Latin, Greek, Cyrillic), stripped, "_" and newlines as spaces,
/// without one punctuation mark at the end (quotes stay).
std::string clean_value_task(std::string_view task);
std::string value_prompt(std::string_view task);  ///< "Task: put the cup on the plate."
std::string steam_prompt(std::string_view task);  ///< "Task: put the cup on the plate\nValue: "

/// bos and the tokens of every text, cut behind `max_length` and padded to it.
/// @param ids      of every text, without bos
/// @param special  bos and pad
data::TokenBatch pad_tokens(std::span<const std::vector<int64_t>> ids, const data::SpecialIds& special,
                            int64_t max_length);

/// Tokens of prompts; one that is too long is cut at its end, with one warning per text.
data::TokenBatch encode_prompts(const data::Tokenizer& tokenizer, std::span<const std::string> prompts,
                                int64_t max_length);

}  // namespace flexor::recap
