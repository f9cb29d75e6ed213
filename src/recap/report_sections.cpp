#include "recap/report_sections.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::recap {
namespace {

using report::escape_html;

/// "1 episode", "2 episodes".
std::string counted(int64_t count, const std::string& one) {
  return str_cat(count, " ", one, count == 1 ? "" : "s");
}

std::string kinds_text(const ReportNumbers& numbers) {
  std::vector<std::string> parts;
  for (size_t kind = 0; kind < kNumEpisodeKinds; ++kind) {
    const int64_t count = numbers.kinds[kind].episodes;
    if (count > 0) {
      const auto name = static_cast<EpisodeKind>(kind);
      parts.push_back(str_cat(count, " ", count == 1 ? kind_singular(name) : kind_name(name)));
    }
  }
  return join_text(parts, ", ");
}

void lead(report::HtmlPage& page, const std::string& text) {
  page.markup(str_cat("<p class=\"lead\">", escape_html(to_utf8(text)), "</p>\n"));
}

const KindCounts& of(const ReportNumbers& numbers, EpisodeKind kind) {
  return numbers.kinds[static_cast<size_t>(kind)];
}

std::string data_text(const JudgedRun& run, const ReportNumbers& numbers) {
  const KindCounts total = numbers.total();
  const std::string datasets = counted(static_cast<int64_t>(run.datasets.size()), "dataset");
  return total.episodes == 0 ? str_cat(datasets, ", of which no step has made anything with this tag yet.")
                             : str_cat(datasets, " with ", counted(total.episodes, "episode"), " of ", total.frames,
                                       " frames: ", kinds_text(numbers), ".");
}

std::string values_text(const JudgedRun& run, const ReportNumbers& numbers) {
  std::string text;
  if (numbers.spearman) {
    text = str_cat("Over all frames the value V and the return have the rank correlation ",
                   short_number(*numbers.spearman, 3), " (Spearman; 1 is the same order, 0 none). V is off by ",
                   short_number(numbers.value_mae, 3), " on average, where the worst return counts 1.");
  }
  if (numbers.separation) {
    text += str_cat(text.empty() ? "" : " ", "In ", percent(*numbers.separation),
                    " of the pairs of a success and a failure the success has the larger mean ",
                    run.has_values() ? "of V" : "score", " (50 % is chance).");
  }
  return text;
}

std::set<double> thresholds_of(const JudgedRun& run) {
  std::set<double> thresholds;
  for (const JudgedDataset& dataset : run.datasets) {
    if (dataset.threshold) {
      thresholds.insert(*dataset.threshold);
    }
  }
  return thresholds;
}

std::string threshold_text(const JudgedRun& run) {
  const std::set<double> thresholds = thresholds_of(run);
  if (thresholds.empty()) {
    return "";
  }
  const std::string low = short_number(*thresholds.begin(), 4), high = short_number(*thresholds.rbegin(), 4);
  return thresholds.size() == 1 ? low : str_cat(low, thresholds.size() == 2 ? " and " : " to ", high);
}

double attempts_share(const ReportNumbers& numbers) {
  int64_t frames = 0, positive = 0;
  for (const PositiveRate& rate : numbers.by_dataset) {
    frames += rate.attempts;
    positive += rate.attempts_positive;
  }
  return PositiveRate::share(positive, frames);
}

double positive_share(const ReportNumbers& numbers) {
  int64_t frames = 0, positive = 0;
  for (const PositiveRate& rate : numbers.by_dataset) {
    frames += rate.frames;
    positive += rate.positive;
  }
  return PositiveRate::share(positive, frames);
}

std::string labels_text(const JudgedRun& run, const ReportNumbers& numbers) {
  std::string text = str_cat(percent(positive_share(numbers)), " of the labelled frames are positive");
  if (std::isfinite(attempts_share(numbers))) {
    text += str_cat(", ", percent(attempts_share(numbers)), " of those of attempts");
  }
  const KindCounts &success = of(numbers, EpisodeKind::kSuccess), &failure = of(numbers, EpisodeKind::kFailure);
  if (success.frames > 0 && failure.frames > 0) {
    text += str_cat(": ", percent(PositiveRate::share(success.positive, success.frames)), " in successes, ",
                    percent(PositiveRate::share(failure.positive, failure.frames)), " in failures");
  }
  const std::string threshold = threshold_text(run);
  return threshold.empty() ? text + "." : str_cat(text, ". The threshold is ", threshold, ".");
}

std::string best_text(const report::RunFiles& run) {
  const report::Curve* curve = run.find("eval/loss");
  if (curve == nullptr || curve->values.empty()) {
    return "";
  }
  // NaN and null stand for a loss that is not finite.
  const auto is_better = [](double a, double b) { return std::isfinite(a) && (!std::isfinite(b) || a < b); };
  const auto best = std::min_element(curve->values.begin(), curve->values.end(), is_better);
  if (!std::isfinite(*best)) {
    return "";
  }
  return str_cat(" Its best validation loss, ", short_number(*best), ", was at step ",
                 curve->steps[static_cast<size_t>(best - curve->values.begin())], ".");
}

std::string training_text(const std::string& what, const report::RunFiles& run) {
  const report::Curve* loss = run.find("loss");
  if (loss == nullptr || loss->values.empty()) {
    return "";
  }
  return str_cat(what, " trained for ", loss->steps.back(), " steps; its loss went from ",
                 short_number(loss->values.front()), " to ", short_number(loss->values.back()), ".", best_text(run));
}

report::HtmlPage& add_figures(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers) {
  std::vector<std::pair<std::string, std::string>> figures;
  const KindCounts total = numbers.total();
  if (total.episodes > 0) {
    figures.emplace_back("episodes", str_cat(total.episodes));
    figures.emplace_back("frames", str_cat(total.frames));
  }
  const int64_t good = of(numbers, EpisodeKind::kSuccess).episodes, bad = of(numbers, EpisodeKind::kFailure).episodes;
  if (good + bad > 0) {
    figures.emplace_back("attempts that succeeded", percent(PositiveRate::share(good, good + bad)));
  }
  if (numbers.spearman) {
    figures.emplace_back("rank correlation of V and return", short_number(*numbers.spearman, 3));
  }
  if (numbers.separation) {
    figures.emplace_back("pairs told apart, success and failure", percent(*numbers.separation));
  }
  if (const std::string threshold = threshold_text(run); !threshold.empty()) {
    figures.emplace_back(run.is_steam() ? "threshold of the score" : "threshold of A", threshold);
  }
  if (run.has_scores()) {
    figures.emplace_back("positive frames", percent(positive_share(numbers)));
  }
  if (std::isfinite(attempts_share(numbers))) {
    figures.emplace_back("positive frames of attempts", percent(attempts_share(numbers)));
  }
  page.figures(figures);
  return page;
}

std::vector<std::string> data_row(const JudgedDataset& dataset) {
  int64_t good = 0, known = 0;
  for (const JudgedEpisode& episode : dataset.episodes) {
    good += episode.kind == EpisodeKind::kSuccess || episode.kind == EpisodeKind::kDemonstration ? 1 : 0;
    known += episode.kind == EpisodeKind::kUnknown ? 0 : 1;
  }
  const auto range = [](const auto& column) {
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    return column.empty() ? std::string("-") : str_cat(short_number(*low), " to ", short_number(*high));
  };
  const double length = static_cast<double>(dataset.size()) / static_cast<double>(dataset.episodes.size());
  return {to_utf8(dataset.name),
          dataset.type,
          str_cat(dataset.episodes.size()),
          percent(PositiveRate::share(good, known)),
          str_cat(dataset.size()),
          dataset.episodes.empty() ? "-" : short_number(length, 3),
          range(dataset.returns),
          range(dataset.values),
          range(dataset.scores),
          to_utf8(dataset.root)};
}

}  // namespace

void add_heading(report::HtmlPage& page, const std::string& id, const std::string& text) {
  page.markup(str_cat("<h2 id=\"", id, "\">", escape_html(text), "</h2>\n"));
}

void add_missing(report::HtmlPage& page, const std::string& text) {
  page.markup(str_cat("<p class=\"missing\">", escape_html(to_utf8(text)), "</p>\n"));
}

void add_summary(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers,
                 const ReportCurves& curves) {
  add_figures(page, run, numbers);
  lead(page, data_text(run, numbers));
  if (numbers.is_nearly_constant()) {
    page.markup(str_cat("<p class=\"warn\">V hardly varies: its standard deviation is ",
                        short_number(numbers.value_std, 2), ", that of the returns ",
                        short_number(numbers.target_std, 2),
                        ". Advantages of such a value model mostly say how near the end of an episode is; train it "
                        "longer, or from pretrained weights.</p>\n"));
  }
  const char* model = curves.value.find("acc_best") != nullptr ? "The ensemble" : "The value model";
  for (const std::string& text : {values_text(run, numbers), run.has_scores() ? labels_text(run, numbers) : "",
                                  training_text(model, curves.value), training_text("The policy", curves.policy)}) {
    if (!text.empty()) {
      lead(page, text);
    }
  }
}

void add_data(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers) {
  add_heading(page, "data", "Data and outcomes");
  std::vector<std::vector<std::string>> rows;
  for (const JudgedDataset& dataset : run.datasets) {
    rows.push_back(data_row(dataset));
  }
  page.table({"dataset", "type", "episodes", "successes", "frames", "frames an episode", "returns, steps", "V",
              run.is_steam() ? "score" : "A", "folder"},
             rows);
  for (const JudgedDataset& dataset : run.datasets) {
    if (!dataset.outcome_problem.empty()) {
      add_missing(page,
                  str_cat(dataset.name, ": the outcomes of its episodes are not known: ", dataset.outcome_problem));
    }
  }
  if (numbers.episodes.empty()) {
    add_missing(page, "No returns yet: `flexor recap returns --config FILE` makes them.");
  }
}

}  // namespace flexor::recap
