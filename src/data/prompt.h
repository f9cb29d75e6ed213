#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flexor::data {

/// How the text in front of the tokenizer is made from a task.
enum class PromptStyle {
  kPlain,    ///< the task as it is
  kNewline,  ///< pi0: "\n" appended unless the task ends with one
  kOpenpi,   ///< pi0 of openpi: the cleaned task and "\n"
  kState,    ///< pi0.5: "Task: {task}, State: {bins};\nAction: ", the task stripped, "_" and newlines as spaces
};

/// Bins of pi0.5's state in the prompt: 256 left edges -1 + 2 i / 256 in float64; bin = number of edges <= x, minus 1:
/// -1 below -1, 255 from 1 - 2/256 on.
/// @param state  [..., S] normalised, real dims only; float32 or float64
/// @return       int64, shape of `state`
at::Tensor state_bins(const at::Tensor& state);

/// Strips whitespace at both ends (Python's str.strip, Unicode spaces included), then "_" and "\n" become spaces.
std::string clean_task(std::string_view task);

/// What a prompt of an advantage-conditioned policy says of the action that follows it (RECAP, step 4).
enum class AdvantageLabel {
  kNone,  ///< nothing: the unconditional prompt
  kPositive,
  kNegative,
};

/// The task with its label, "{task} Advantage: positive" once it is cleaned as clean_task() does; kNone: the task as it
/// is. The reference writes a newline before "Advantage:", which its tokenizer wrapper turns into a space.
/// @param style  that make_prompt() is called with: one that cleans is given the newline, others a cleaned text
std::string with_advantage(PromptStyle style, std::string_view task, AdvantageLabel label);

/// @param bins  B x S, row-major; only read for kState
std::string make_prompt(PromptStyle style, std::string_view task, std::span<const int64_t> bins);

/// Prompts of a batch. @param state [B, S] normalised (may be undefined unless kState)
/// @throws Error(kData) if kState has no state
std::vector<std::string> make_prompts(PromptStyle style, std::span<const std::string> tasks, const at::Tensor& state);

}  // namespace flexor::data
