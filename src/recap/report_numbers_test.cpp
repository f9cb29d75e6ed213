#include "recap/report_numbers.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "recap/report_episodes.h"

namespace flexor::recap {
namespace {

using ::testing::ElementsAre;

/// Two demonstrations' frames, and a success and a failure of two tasks; returns in [-8, 0].
JudgedRun small_run() {
  JudgedRun run;
  run.tasks = {"pick", "place"};
  run.range = ReturnRange{-8, 0};
  JudgedDataset& demos = run.datasets.emplace_back();
  demos.name = "demos", demos.type = "sft";
  demos.episodes = {{7, 0, 2, EpisodeKind::kDemonstration}};
  demos.frame_index = {0, 1};
  demos.returns = {-1, 0};
  demos.values = {-0.25, 0};
  demos.scores = {0.125, 0};
  demos.labels = {1, 1};
  demos.tasks = {0, 0};
  demos.threshold = 0.1;
  JudgedDataset& tries = run.datasets.emplace_back();
  tries.name = "tries", tries.type = "rollout";
  tries.episodes = {{0, 0, 3, EpisodeKind::kSuccess}, {3, 3, 5, EpisodeKind::kFailure}};
  tries.frame_index = {0, 1, 2, 0, 1};
  tries.returns = {-2, -1, 0, -8, -7};
  tries.values = {-0.5, -0.25, 0, -0.5, -0.75};
  tries.scores = {0.2, 0.1, 0.05, -0.3, 0.4};
  tries.labels = {1, 1, 0, 0, 1};
  tries.tasks = {0, 0, 1, 1, 1};
  tries.threshold = 0.1;
  return run;
}

TEST(ReportNumbersTest, EpisodesByHand) {
  const ReportNumbers numbers = report_numbers(small_run());
  ASSERT_EQ(numbers.episodes.size(), 3U);
  const EpisodeNumbers& success = numbers.episodes[1];
  EXPECT_EQ(success.return_first, -2);
  EXPECT_EQ(success.return_mean, -1);
  EXPECT_EQ(success.target_mean, -0.125);  // -2/8, -1/8, 0
  EXPECT_EQ(success.value_first, -0.5);
  EXPECT_EQ(success.value_mean, -0.25);
  EXPECT_EQ(success.value_last, 0);
  EXPECT_DOUBLE_EQ(success.gap, 0.125);  // 0.25, 0.125, 0
  EXPECT_DOUBLE_EQ(success.spearman.value(), 1);
  EXPECT_DOUBLE_EQ(success.positive_share, 2.0 / 3);
  const EpisodeNumbers& failure = numbers.episodes[2];
  EXPECT_DOUBLE_EQ(failure.spearman.value(), -1);
  EXPECT_DOUBLE_EQ(failure.gap, (0.5 + 0.125) / 2);
  EXPECT_EQ(failure.score_min, -0.3);
  EXPECT_EQ(failure.score_max, 0.4);
}

TEST(ReportNumbersTest, AgreementOfValueAndReturn) {
  const ReportNumbers numbers = report_numbers(small_run());
  // |V - G/8|: 0.125, 0 | 0.25, 0.125, 0 | 0.5, 0.125
  EXPECT_DOUBLE_EQ(numbers.value_mae, 1.125 / 7);
  // The mean of V is -0.25 in the success, -0.625 in the failure; the demonstration does not count.
  EXPECT_EQ(numbers.separation.value(), 1.0);
  // Ranks of G: -8 -7 -2 -1 -1 0 0; of V in that order: -0.5 -0.75 -0.5 -0.25 -0.25 0 0.
  const double g[] = {0, 1, 2, 3.5, 3.5, 5.5, 5.5}, v[] = {1.5, 0, 1.5, 3.5, 3.5, 5.5, 5.5};
  double gv = 0, gg = 0, vv = 0;
  for (int i = 0; i < 7; ++i) {
    gv += (g[i] - 3) * (v[i] - 3), gg += (g[i] - 3) * (g[i] - 3), vv += (v[i] - 3) * (v[i] - 3);
  }
  EXPECT_NEAR(numbers.spearman.value(), gv / std::sqrt(gg * vv), 1e-12);
}

TEST(ReportNumbersTest, SpreadsAreOverAllFrames) {
  const ReportNumbers numbers = report_numbers(small_run());
  // V: -0.25 0 -0.5 -0.25 0 -0.5 -0.75, mean -2.25 / 7; targets: -1 0 -2 -1 0 -8 -7 eighths
  EXPECT_NEAR(numbers.value_std, std::sqrt((2 * 0.0625 + 2 * 0.25 + 0.5625) / 7 - (2.25 / 7) * (2.25 / 7)), 1e-12);
  EXPECT_NEAR(numbers.target_std, std::sqrt(119.0 / 7 - (19.0 / 7) * (19.0 / 7)) / 8, 1e-7);
  EXPECT_FALSE(numbers.is_nearly_constant());
}

TEST(ReportNumbersTest, TiedMeansCountHalf) {
  JudgedRun run = small_run();
  run.datasets[1].values[3] = run.datasets[1].values[4] = -0.25;  // the failure now ties with the success
  EXPECT_EQ(report_numbers(run).separation.value(), 0.5);
  run.datasets[1].episodes[0].kind = EpisodeKind::kFailure;  // the demonstration, -0.125, now stands for the successes
  EXPECT_EQ(report_numbers(run).separation.value(), 1.0);
}

TEST(ReportNumbersTest, PositiveRatesByDatasetAndTask) {
  const ReportNumbers numbers = report_numbers(small_run());
  ASSERT_EQ(numbers.by_dataset.size(), 2U);
  const PositiveRate &demos = numbers.by_dataset[0], &tries = numbers.by_dataset[1];
  EXPECT_EQ(demos.positive, 2);
  EXPECT_EQ(demos.above, 1);  // 0 does not reach 0.1, but it is a demonstration
  EXPECT_EQ(demos.attempts, 0);
  EXPECT_TRUE(std::isnan(demos.attempts_share()));
  EXPECT_EQ(tries.above, 3);  // 0.1 reaches it
  EXPECT_DOUBLE_EQ(tries.positive_share(), 0.6);
  ASSERT_EQ(numbers.by_task.size(), 2U);
  EXPECT_EQ(numbers.by_task[0].name, "pick");  // four frames, place has three
  EXPECT_EQ(numbers.by_task[0].positive, 4);
  EXPECT_EQ(numbers.by_task[0].attempts_positive, 2);
  EXPECT_EQ(numbers.by_task[1].name, "place");
  EXPECT_DOUBLE_EQ(numbers.by_task[1].attempts_share(), 1.0 / 3);
  EXPECT_EQ(numbers.total().positive, 5);
  EXPECT_EQ(numbers.kinds[static_cast<size_t>(EpisodeKind::kFailure)].positive, 1);
}

TEST(ReportNumbersTest, ThresholdsOfTasksDecideForTheirFrames) {
  JudgedRun run = small_run();
  run.datasets[1].task_thresholds = {{"pick", 0.15}, {"place", -1}};
  const ReportNumbers numbers = report_numbers(run);
  EXPECT_EQ(numbers.by_dataset[1].above, 4);  // pick: 0.2 only; place: all three
  EXPECT_EQ(numbers.by_task[1].threshold.value(), -1);
}

TEST(ReportNumbersTest, HistogramsCountEveryFrameOnce) {
  const ReportNumbers numbers = report_numbers(small_run());
  for (const KindHistogram* histogram : {&numbers.returns, &numbers.values, &numbers.scores}) {
    int64_t total = 0;
    for (const auto& counts : histogram->counts) {
      total = std::accumulate(counts.begin(), counts.end(), total);
    }
    EXPECT_EQ(total, 7);
  }
  EXPECT_EQ(numbers.values.edges.front(), -0.75);
  EXPECT_EQ(numbers.values.edges.back(), 0);
  EXPECT_THAT(numbers.returns.edges, ElementsAre(-8.5, -7.5, -6.5, -5.5, -4.5, -3.5, -2.5, -1.5, -0.5, 0.5));
  EXPECT_EQ(numbers.returns.counts[static_cast<size_t>(EpisodeKind::kFailure)][0], 1);
  EXPECT_EQ(numbers.returns.counts[static_cast<size_t>(EpisodeKind::kSuccess)].back(), 1);
}

TEST(ReportNumbersTest, WholeReturnsFillBinsOfEqualWholeNumbers) {
  JudgedRun run = small_run();
  run.datasets[1].returns = {-99, -50, 0, -1, -2};
  KindHistogram histogram = report_numbers(run).returns;  // 100 numbers from -99 to 0 in bins of 3
  ASSERT_EQ(histogram.edges.size(), 35U);
  EXPECT_EQ(histogram.edges[1], -96.5);
  EXPECT_EQ(histogram.edges.back(), 2.5);
  run.datasets[1].returns[1] = -50.5;
  histogram = report_numbers(run).returns;
  EXPECT_EQ(histogram.edges.front(), -99);
  EXPECT_EQ(histogram.edges.back(), 0);
  for (JudgedDataset& dataset : run.datasets) {
    std::fill(dataset.returns.begin(), dataset.returns.end(), -3.0F);
  }
  EXPECT_THAT(report_numbers(run).returns.edges, ElementsAre(-3.5, -2.5));
}

TEST(ReportNumbersTest, ManyScoresAreCutAtTheirTails) {
  JudgedRun run = small_run();
  JudgedDataset& tries = run.datasets[1];
  tries.episodes = {{0, 0, 4000, EpisodeKind::kSuccess}};
  for (size_t i = 0; i < 4000; ++i) {
    tries.scores.resize(i + 1);
    tries.scores[i] = i < 3990 ? static_cast<double>(i % 100) / 100 : 50.0;
  }
  tries.frame_index.resize(4000), tries.labels.resize(4000), tries.tasks.resize(4000);
  tries.returns.resize(4000), tries.values.resize(4000);
  const KindHistogram histogram = report_numbers(run).scores;
  EXPECT_TRUE(histogram.is_cut);
  EXPECT_LT(histogram.edges.back(), 1.0);
  EXPECT_GE(histogram.counts[static_cast<size_t>(EpisodeKind::kSuccess)].back(), 10);
}

TEST(ReportNumbersTest, CalibrationComparesMeansOfBins) {
  const ReportNumbers numbers = report_numbers(small_run());
  // Bins of 0.05 over [-1, 0]: V = -0.75 | -0.5 -0.5 | -0.25 -0.25 | 0 0
  ASSERT_EQ(numbers.calibration.size(), 4U);
  const CalibrationBin& half = numbers.calibration[1];
  EXPECT_EQ(half.frames, 2);
  EXPECT_EQ(half.value_mean, -0.5);
  EXPECT_EQ(half.target_mean, (-0.25 - 1) / 2);
  EXPECT_DOUBLE_EQ(half.target_std, 0.375);
  EXPECT_NEAR(numbers.calibration_error, (0.125 + 2 * 0.125 + 2 * 0.125 + 0) / 7, 1e-12);
}

TEST(ReportNumbersTest, ProgressIsByPartOfTheEpisode) {
  const ReportNumbers numbers = report_numbers(small_run());
  const std::vector<double>& failures = numbers.positive_by_progress[static_cast<size_t>(EpisodeKind::kFailure)];
  ASSERT_EQ(failures.size(), 20U);
  EXPECT_EQ(failures[0], 0);
  EXPECT_EQ(failures[10], 1);
  EXPECT_TRUE(std::isnan(failures[5]));
}

TEST(ReportNumbersTest, EqualValuesMakeOneBin) {
  JudgedRun run = small_run();
  for (JudgedDataset& dataset : run.datasets) {
    std::fill(dataset.scores.begin(), dataset.scores.end(), 0.25);
  }
  EXPECT_THAT(report_numbers(run).scores.edges, ElementsAre(-0.25, 0.75));
}

TEST(ReportNumbersTest, AnEnsembleHasScoresOnly) {
  JudgedRun run = small_run();
  for (JudgedDataset& dataset : run.datasets) {
    dataset.values.clear();
    dataset.returns.clear();
    dataset.disagreement.assign(dataset.size(), 0.5F);
  }
  run.range.reset();
  EXPECT_TRUE(run.is_steam());
  const ReportNumbers numbers = report_numbers(run);
  EXPECT_FALSE(numbers.spearman);
  EXPECT_TRUE(numbers.calibration.empty());
  EXPECT_EQ(numbers.by_dataset[1].above, 2);  // strictly above 0.1
  EXPECT_EQ(numbers.episodes[2].disagreement, 0.5);
  EXPECT_TRUE(std::isnan(numbers.episodes[2].gap));
}

TEST(ReportNumbersTest, ShowsATypicalSuccessAndFailureAndTheLargestGaps) {
  const JudgedRun run = small_run();
  const ReportNumbers numbers = report_numbers(run);
  const auto chosen = choose_episodes(run, numbers);
  ASSERT_EQ(chosen.size(), 3U);
  EXPECT_EQ(chosen[0].row, 1U);
  EXPECT_EQ(chosen[0].why, "a typical success");
  EXPECT_EQ(chosen[1].row, 2U);
  EXPECT_EQ(chosen[2].row, 0U);
  EXPECT_EQ(chosen[2].why, "large gap between V and the return");
  EXPECT_EQ(named_episodes(run, numbers, {"tries/3", "7", "tries/3"}).size(), 2U);
}

}  // namespace
}  // namespace flexor::recap
