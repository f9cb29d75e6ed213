#include "data/prompt.h"

#include <algorithm>

#include "base/error.h"
#include "data/bpe.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

constexpr int64_t kBins = 256;

/// Number of bytes of the whitespace character (Python's str.isspace) at the start of `text`, 0 if it is none.
size_t space_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return (first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20) ? 1 : 0;
  }
  const size_t length = utf8_length(text);
  if (length == 2) {
    return first == 0xC2 && (byte(1) == 0x85 || byte(1) == 0xA0) ? 2 : 0;
  }
  if (length != 3) {
    return 0;
  }
  const int code = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  const bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
                     code == 0x202F || code == 0x205F || code == 0x3000;
  return space ? 3 : 0;
}

std::string_view strip(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t length = space_length(text.substr(begin));
    if (length == 0) {
      break;
    }
    begin += length;
  }
  size_t end = begin;  // behind the last character that is no space
  for (size_t at = begin; at < text.size();) {
    const size_t length = space_length(text.substr(at));
    at += length == 0 ? 1 : length;
    if (length == 0) {
      end = at;
    }
  }
  return text.substr(begin, end - begin);
}

}  // namespace

Tensor state_bins(const Tensor& state) {
  // x >= -1 + 2 i / 256  <=>  128 x >= i - 128, and scaling by a power of two is exact: counting edges is a floor.
  const Tensor position = (state.to(at::kDouble) * (kBins / 2.0)).floor() + kBins / 2.0;
  return position.clamp(-1, kBins - 1).to(at::kLong);
}

std::string clean_task(std::string_view task) {
  std::string text(strip(task));
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '_' || c == '\n'; }, ' ');
  return text;
}

std::string with_advantage(PromptStyle style, std::string_view task, AdvantageLabel label) {
  if (label == AdvantageLabel::kNone) {
    return std::string(task);
  }
  const std::string_view word = label == AdvantageLabel::kPositive ? "positive" : "negative";
  const std::string text = std::string(task) + "\nAdvantage: " + std::string(word);
  const bool is_cleaned_later = style == PromptStyle::kOpenpi || style == PromptStyle::kState;
  return is_cleaned_later ? text : clean_task(text);
}

std::string make_prompt(PromptStyle style, std::string_view task, std::span<const int64_t> bins) {
  switch (style) {
    case PromptStyle::kPlain:
      return std::string(task);
    case PromptStyle::kNewline:
      return task.ends_with('\n') ? std::string(task) : std::string(task) + '\n';
    case PromptStyle::kOpenpi:
      return clean_task(task) + '\n';
    case PromptStyle::kState:
      break;
  }
  std::string prompt = "Task: " + clean_task(task) + ", State: ";
  for (size_t i = 0; i < bins.size(); ++i) {
    prompt += (i == 0 ? "" : " ") + std::to_string(bins[i]);
  }
  return prompt + ";\nAction: ";
}

std::vector<std::string> make_prompts(PromptStyle style, std::span<const std::string> tasks, const Tensor& state) {
  std::vector<std::string> prompts;
  prompts.reserve(tasks.size());
  Tensor bins;
  int64_t dims = 0;
  if (style == PromptStyle::kState) {
    if (!state.defined()) {
      throw Error(ErrorKind::kData, "pi0.5 writes the state into the prompt, but there is no observation.state", "",
                  "rename_map maps the dataset's name of the state to observation.state");
    }
    bins = state_bins(state).cpu().contiguous();
    dims = bins.size(1);
  }
  for (size_t b = 0; b < tasks.size(); ++b) {
    const int64_t* row = bins.defined() ? bins.const_data_ptr<int64_t>() + static_cast<int64_t>(b) * dims : nullptr;
    prompts.push_back(make_prompt(style, tasks[b], {row, static_cast<size_t>(dims)}));
  }
  return prompts;
}

}  // namespace flexor::data
