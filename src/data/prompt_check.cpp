#include "data/prompt_check.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

int64_t num_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  return 1 + static_cast<int64_t>(tokenizer.encode(prompt).size());
}

Error too_long(int64_t tokens, int64_t allowed, const std::string& where) {
  return {ErrorKind::kData, str_cat("prompt has ", tokens, " tokens, policy.tokenizer_max_length is ", allowed), where,
          str_cat("policy.tokenizer_max_length=", tokens, " or more: a prompt that is cut loses its end")};
}

/// Looks at the prompts of `count` frames from `first` on.
void check_frames(const Processor& processor, const Dataset& dataset, AdvantageLabel label, int64_t first,
                  int64_t count) {
  const int64_t width = dataset.width(schema::kStateKey);
  RawBatch raw;
  raw.state = at::empty({count, width}, at::kFloat);
  float* state = raw.state.mutable_data_ptr<float>();
  const int64_t now[] = {0};
  for (int64_t i = 0; i < count; ++i) {
    const auto id = dataset.frame_id(first + i);
    raw.tasks.push_back(with_advantage(processor.config().prompt, dataset.task(first + i), label));
    raw.episodes.push_back(id.episode_index);
    raw.frames.push_back(id.frame_index);
    dataset.read_window(schema::kStateKey, first + i, now, {state + i * width, static_cast<size_t>(width)});
  }
  const std::vector<std::string> prompts = processor.prompts(raw);
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (const int64_t tokens = num_tokens(processor.tokenizer(), prompts[i]); tokens > processor.config().max_length) {
      throw too_long(tokens, processor.config().max_length,
                     str_cat(dataset.root(), ", episode ", raw.episodes[i], ", frame ", raw.frames[i]));
    }
  }
}

}  // namespace

PromptLength prompt_length(const Tokenizer& tokenizer, PromptStyle style, std::span<const std::string> tasks,
                           int64_t state_dim) {
  std::vector<int64_t> shortest(static_cast<size_t>(state_dim), 0), longest = shortest;
  if (style == PromptStyle::kState) {
    int64_t fewest = 0, most = 0;
    for (int64_t bin = -1; bin < 256; ++bin) {
      const std::vector<int64_t> bins(static_cast<size_t>(state_dim), bin);
      const int64_t tokens = num_tokens(tokenizer, make_prompt(style, "", bins));
      if (fewest == 0 || tokens < fewest) {
        fewest = tokens;
        shortest = bins;
      }
      if (tokens > most) {
        most = tokens;
        longest = bins;
      }
    }
  }
  PromptLength length;
  for (const std::string& task : tasks) {
    length.at_least = std::max(length.at_least, num_tokens(tokenizer, make_prompt(style, task, shortest)));
    length.at_most = std::max(length.at_most, num_tokens(tokenizer, make_prompt(style, task, longest)));
  }
  return length;
}

std::vector<std::string> distinct_tasks(const Mixture& mixture) {
  std::set<std::string> tasks;
  for (const Mixture::Part& part : mixture.parts()) {
    for (int64_t i = 0; i < part.dataset.num_episodes(); ++i) {
      tasks.insert(part.dataset.episode(i).tasks.begin(), part.dataset.episode(i).tasks.end());
    }
  }
  return {tasks.begin(), tasks.end()};
}

std::vector<std::string> labelled_tasks(PromptStyle style, const std::vector<std::string>& tasks,
                                        const std::vector<AdvantageLabel>& labels) {
  std::vector<std::string> all;
  for (const AdvantageLabel label : labels) {
    for (const std::string& task : tasks) {
      all.push_back(with_advantage(style, task, label));
    }
  }
  return all;
}

void check_prompts(const Processor& processor, const Mixture& mixture, const std::vector<AdvantageLabel>& labels) {
  const ProcessorConfig& config = processor.config();
  const PromptLength length =
      prompt_length(processor.tokenizer(), config.prompt,
                    labelled_tasks(config.prompt, distinct_tasks(mixture), labels), processor.state_dim());
  if (length.at_least > config.max_length) {
    throw too_long(length.at_most, config.max_length, "policy.tokenizer_max_length");
  }
  if (length.at_most <= config.max_length) {
    return;
  }
  constexpr int64_t kChunk = 1024;
  for (const Mixture::Part& part : mixture.parts()) {
    for (int64_t first = 0; first < part.dataset.num_frames(); first += kChunk) {
      for (const AdvantageLabel label : labels) {
        check_frames(processor, part.dataset, label, first, std::min(kChunk, part.dataset.num_frames() - first));
      }
    }
  }
}

}  // namespace flexor::data
