#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/mixture.h"
#include "data/processor.h"

namespace flexor::data {

/// Tokens (bos included) of the longest prompt of some tasks, whatever the state: the longest task with the bins that
/// take the fewest and the most tokens. Without the state in the prompt both are the same number.
struct PromptLength {
  int64_t at_least = 0, at_most = 0;
};
PromptLength prompt_length(const Tokenizer& tokenizer, PromptStyle style, std::span<const std::string> tasks,
                           int64_t state_dim);

/// All distinct task texts of a mixture.
std::vector<std::string> distinct_tasks(const Mixture& mixture);

/// Makes sure, before training starts, that no prompt of the data will be cut. Only if the bounds of prompt_length
/// leave it open, the states of all frames are looked at.
/// @param labels  that a task may be asked for with; at least one
/// @throws Error(kData) naming policy.tokenizer_max_length, and the dataset, episode and frame where it depends on the
/// state
void check_prompts(const Processor& processor, const Mixture& mixture,
                   const std::vector<AdvantageLabel>& labels = {AdvantageLabel::kNone});

/// Every task with every label, as with_advantage() has it.
std::vector<std::string> labelled_tasks(PromptStyle style, const std::vector<std::string>& tasks,
                                        const std::vector<AdvantageLabel>& labels);

}  // namespace flexor::data
