#include "data/episode_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"

namespace flexor::data {
namespace {

/// Splits off the end of a group of episodes in ascending order.
void hold_out_last(const std::vector<int64_t>& episodes, double eval_split, EpisodeSplit& split) {
  const double share = static_cast<double>(episodes.size()) * eval_split;
  const auto held_out = static_cast<std::ptrdiff_t>(std::ceil(share - 1e-9));  // 0.07 * 100 is 7, not 7.0000001
  split.train.insert(split.train.end(), episodes.begin(), episodes.end() - held_out);
  split.held_out.insert(split.held_out.end(), episodes.end() - held_out, episodes.end());
}

}  // namespace

EpisodeSplit split_episodes(const Dataset& dataset, double eval_split) {
  if (!(eval_split >= 0 && eval_split < 1)) {
    throw Error(ErrorKind::kConfig, str_cat("eval_split is ", eval_split, ", expected 0 or more and less than 1"),
                "dataset.eval_split");
  }
  std::map<std::string, std::vector<int64_t>> by_task;
  std::vector<int64_t> all;
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    const Episode& episode = dataset.episode(number);
    if (episode.length > 0) {
      by_task[episode.tasks.empty() ? dataset.task(dataset.first_position(number)) : episode.tasks[0]].push_back(
          episode.episode_index);
      all.push_back(episode.episode_index);
    }
  }
  EpisodeSplit split;
  for (const auto& [task, episodes] : by_task) {
    hold_out_last(episodes, eval_split, split);
  }
  const bool by_task_is_empty = split.train.empty();
  if (by_task_is_empty) {
    split = {};
    hold_out_last(all, eval_split, split);
  }
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.held_out.begin(), split.held_out.end());
  if (split.train.empty()) {
    throw Error(ErrorKind::kConfig,
                str_cat("eval_split ", eval_split, " of ", all.size(), " episodes leaves none to train on"),
                dataset.root(), "choose a smaller dataset.eval_split, or 0");
  }
  if (by_task_is_empty) {
    log_warn("dataset: an episode of each task held out would leave none to train on; held out are the last of all",
             {{"held_out", split.held_out.size()}, {"episodes", all.size()}});
  }
  return split;
}

}  // namespace flexor::data
