#include "recap/report_tables.h"

#include <utility>

#include "base/text.h"
#include "report/csv_table.h"

namespace flexor::recap {
namespace {

using report::CsvTable;

std::string task_of(const JudgedRun& run, const JudgedDataset& dataset, const JudgedEpisode& episode) {
  return dataset.tasks.empty() ? "" : run.tasks[static_cast<size_t>(dataset.tasks[episode.first])];
}

std::string episodes_csv(const JudgedRun& run, const ReportNumbers& numbers) {
  CsvTable table({"dataset", "type", "episode_index", "outcome", "frames", "task", "return_first", "return_mean",
                  "target_mean", "value_first", "value_mean", "value_last", "value_gap", "value_spearman", "score_mean",
                  "score_min", "score_max", "disagreement", "positive_share"});
  for (const EpisodeNumbers& row : numbers.episodes) {
    const JudgedDataset& dataset = run.datasets[row.dataset];
    const JudgedEpisode& episode = dataset.episodes[row.place];
    table.add(to_utf8(dataset.name)).add(dataset.type).add(episode.episode_index).add(kind_singular(episode.kind));
    table.add(static_cast<int64_t>(episode.length())).add(to_utf8(task_of(run, dataset, episode)));
    table.add(row.return_first).add(row.return_mean).add(row.target_mean);
    table.add(row.value_first).add(row.value_mean).add(row.value_last).add(row.gap).add(row.spearman);
    table.add(row.score_mean).add(row.score_min).add(row.score_max).add(row.disagreement).add(row.positive_share);
    table.end_row();
  }
  return table.str();
}

std::string rates_csv(const ReportNumbers& numbers) {
  CsvTable table({"group", "name", "type", "frames", "positive", "positive_share", "above_threshold", "attempt_frames",
                  "attempt_positive", "attempt_positive_share", "threshold"});
  const auto add = [&table](const char* group, const PositiveRate& rate) {
    table.add(group)
        .add(to_utf8(rate.name))
        .add(rate.type)
        .add(rate.frames)
        .add(rate.positive)
        .add(rate.positive_share());
    table.add(rate.above).add(rate.attempts).add(rate.attempts_positive).add(rate.attempts_share());
    table.add(rate.threshold);
    table.end_row();
  };
  for (const PositiveRate& rate : numbers.by_dataset) {
    add("dataset", rate);
  }
  for (const PositiveRate& rate : numbers.by_task) {
    add("task", rate);
  }
  return table.str();
}

std::string calibration_csv(const ReportNumbers& numbers) {
  CsvTable table({"bin_low", "bin_high", "frames", "value_mean", "target_mean", "target_std"});
  for (const CalibrationBin& bin : numbers.calibration) {
    table.add(bin.low).add(bin.high).add(bin.frames).add(bin.value_mean).add(bin.target_mean).add(bin.target_std);
    table.end_row();
  }
  return table.str();
}

std::string histograms_csv(const ReportNumbers& numbers) {
  CsvTable table({"quantity", "outcome", "bin_low", "bin_high", "frames"});
  const auto add = [&table](const char* quantity, const KindHistogram& histogram) {
    for (size_t kind = 0; kind < kNumEpisodeKinds && !histogram.is_empty(); ++kind) {
      for (size_t bin = 0; bin + 1 < histogram.edges.size(); ++bin) {
        table.add(quantity).add(kind_singular(static_cast<EpisodeKind>(kind))).add(histogram.edges[bin]);
        table.add(histogram.edges[bin + 1]).add(histogram.counts[kind][bin]);
        table.end_row();
      }
    }
  };
  add("return", numbers.returns);
  add("value", numbers.values);
  add("score", numbers.scores);
  return table.str();
}

std::string curves_csv(const ReportCurves& curves) {
  CsvTable table({"training", "name", "step", "value"});
  for (const auto& [training, files] : {std::pair("value", &curves.value), std::pair("policy", &curves.policy)}) {
    for (const report::Curve& curve : files->curves) {
      for (size_t i = 0; i < curve.steps.size(); ++i) {
        table.add(training).add(curve.name).add(curve.steps[i]).add(curve.values[i]);
        table.end_row();
      }
    }
  }
  return table.str();
}

}  // namespace

std::vector<ReportTable> report_tables(const JudgedRun& run, const ReportNumbers& numbers, const ReportCurves& curves) {
  std::vector<ReportTable> tables;
  if (!numbers.episodes.empty()) {
    tables.push_back({"episodes.csv", "a row an episode", episodes_csv(run, numbers)});
    tables.push_back({"histograms.csv", "a row a bin, of returns, V and scores by outcome", histograms_csv(numbers)});
  }
  if (!numbers.by_dataset.empty()) {
    tables.push_back({"positive_rates.csv", "a row a dataset, and a row a task", rates_csv(numbers)});
  }
  if (!numbers.calibration.empty()) {
    tables.push_back({"calibration.csv", "a row a bin of V", calibration_csv(numbers)});
  }
  if (!curves.value.curves.empty() || !curves.policy.curves.empty()) {
    tables.push_back({"curves.csv", "a row a logged number of both trainings", curves_csv(curves)});
  }
  return tables;
}

}  // namespace flexor::recap
