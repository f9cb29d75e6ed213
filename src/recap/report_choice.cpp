#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/report_episodes.h"

namespace flexor::recap {
namespace {

using Rows = std::vector<size_t>;

EpisodeKind kind_of(const JudgedRun& run, const EpisodeNumbers& episode) {
  return run.datasets[episode.dataset].episodes[episode.place].kind;
}

double doubt(const EpisodeNumbers& episode) {
  return std::isfinite(episode.gap) ? episode.gap : episode.disagreement;
}

double typical(const EpisodeNumbers& episode) {
  return std::isfinite(episode.gap) ? episode.gap : episode.score_mean;
}

bool is_judged(const EpisodeNumbers& episode) {
  return std::isfinite(episode.score_mean);
}

/// The median of a kind, or nothing without an episode of it.
void add_typical(const JudgedRun& run, const ReportNumbers& numbers, EpisodeKind kind,
                 std::vector<ChosenEpisode>& chosen) {
  Rows rows;
  for (size_t row = 0; row < numbers.episodes.size(); ++row) {
    if (kind_of(run, numbers.episodes[row]) == kind && is_judged(numbers.episodes[row])) {
      rows.push_back(row);
    }
  }
  if (rows.empty()) {
    return;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return typical(numbers.episodes[a]) < typical(numbers.episodes[b]); });
  chosen.push_back({rows[(rows.size() - 1) / 2], str_cat("a typical ", kind_singular(kind))});
}

bool is_chosen(const std::vector<ChosenEpisode>& chosen, size_t row) {
  return std::any_of(chosen.begin(), chosen.end(), [row](const ChosenEpisode& episode) { return episode.row == row; });
}

}  // namespace

std::vector<ChosenEpisode> choose_episodes(const JudgedRun& run, const ReportNumbers& numbers) {
  std::vector<ChosenEpisode> chosen;
  add_typical(run, numbers, EpisodeKind::kSuccess, chosen);
  if (chosen.empty()) {
    add_typical(run, numbers, EpisodeKind::kDemonstration, chosen);
  }
  add_typical(run, numbers, EpisodeKind::kFailure, chosen);
  Rows rest;
  for (size_t row = 0; row < numbers.episodes.size(); ++row) {
    if (is_judged(numbers.episodes[row]) && std::isfinite(doubt(numbers.episodes[row])) && !is_chosen(chosen, row)) {
      rest.push_back(row);
    }
  }
  std::stable_sort(rest.begin(), rest.end(),
                   [&](size_t a, size_t b) { return doubt(numbers.episodes[a]) > doubt(numbers.episodes[b]); });
  constexpr size_t kMostDoubtful = 2;
  for (size_t i = 0; i < std::min(kMostDoubtful, rest.size()); ++i) {
    const char* why = run.has_values() ? "large gap between V and the return" : "the members of the ensemble disagree";
    chosen.push_back({rest[i], why});
  }
  return chosen;
}

std::vector<ChosenEpisode> named_episodes(const JudgedRun& run, const ReportNumbers& numbers,
                                          const std::vector<std::string>& names) {
  std::vector<ChosenEpisode> chosen;
  for (const std::string& name : names) {
    const size_t slash = name.rfind('/');
    const std::string dataset = slash == std::string::npos ? "" : name.substr(0, slash);
    const std::string number = name.substr(slash == std::string::npos ? 0 : slash + 1);
    char* end = nullptr;
    const int64_t wanted = std::strtoll(number.c_str(), &end, 10);
    const bool is_number = !number.empty() && *end == '\0';
    const auto found =
        std::find_if(numbers.episodes.begin(), numbers.episodes.end(), [&](const EpisodeNumbers& episode) {
          const JudgedDataset& of = run.datasets[episode.dataset];
          return is_number && of.episodes[episode.place].episode_index == wanted &&
                 (dataset.empty() || of.name == dataset);
        });
    if (found == numbers.episodes.end()) {
      throw Error(ErrorKind::kConfig, str_cat("the run has no episode '", name, "'"), "episodes",
                  "DATASET/EPISODE with a dataset's name in the run and its episode_index; episodes.csv lists them");
    }
    if (!is_judged(*found)) {
      throw Error(ErrorKind::kConfig, str_cat("the episode '", name, "' has no labels yet"), "episodes",
                  "flexor recap advantages --config FILE makes them");
    }
    const auto row = static_cast<size_t>(found - numbers.episodes.begin());
    if (!is_chosen(chosen, row)) {
      chosen.push_back({row, "asked for"});
    }
  }
  return chosen;
}

}  // namespace flexor::recap
