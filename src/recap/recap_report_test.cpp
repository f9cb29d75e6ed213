#include "recap/recap_report.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <numeric>

#include "base/file.h"
#include "base/text.h"
#include "config/print.h"
#include "recap/advantages.h"
#include "recap/mixture_config.h"
#include "recap/recap_fixture.h"
#include "recap/returns_step.h"
#include "recap/sidecar.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// A run on two small datasets, of which the second holds failures.
class RecapReportTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    config_.output_dir = folder_ + "/out";
    fs::create_directories(config_.output_dir);
    config_.data.train_data_paths = {{.dataset_path = copy_of("data/datasets/v21_h264", "demos"), .type = "sft"},
                                     {.dataset_path = copy_of("data/datasets/v30_from_v21", "tries"),
                                      .type = "rollout",
                                      .success_episodes = std::vector<int64_t>{1, 3}}};
    config_.data.failure_reward = -50;
    config_.data.robot_type = "auto";
    config_.returns.data = config_.value.data = config_.advantages.data = config_.policy.data = config_.data;
  }

  const std::string& root(size_t i) const { return config_.data.train_data_paths[i].dataset_path; }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(config_.output_dir + "/" + name).parent_path());
    std::ofstream(config_.output_dir + "/" + name) << text;
  }
  std::string written(const std::string& name) const { return read_file(config_.output_dir + "/" + name); }
  std::string page() { return read_file(write_recap_report(config_)); }

  /// Rows with V = -frame / 100 and A = frame / 100 - 0.1; every fourth positive.
  AdvantageRows rows_of(size_t i) const {
    const ReturnsSidecar returns = read_returns(root(i), "");
    AdvantageRows rows;
    rows.episode_index = returns.episode_index;
    rows.frame_index = returns.frame_index;
    rows.returns.assign(returns.returns.begin(), returns.returns.end());
    for (const int64_t frame : returns.frame_index) {
      rows.value_current.push_back(-static_cast<double>(frame) / 100);
      rows.advantage_continuous.push_back(static_cast<double>(frame) / 100 - 0.1);
      rows.advantage.push_back(i == 0 || frame % 4 == 0 ? 1 : 0);
    }
    rows.value_next = rows.reward_sum = rows.reward_sum_raw = rows.value_current;
    rows.num_valid_rewards.assign(rows.size(), 1);
    return rows;
  }
  void label(size_t i, const AdvantageRows& rows, const Json& made_by) {
    write_advantages(root(i) + "/meta/advantages.parquet", rows, "d", made_by);
  }
  void label_all() {
    compute_returns(config_);
    const Json made_by = Json::object({{"threshold", 0.05},
                                       {"return_min", -100.0},
                                       {"return_max", 0.0},
                                       {"lookahead", 10},
                                       {"positive_quantile", 0.3},
                                       {"threshold_from", "rollout"}});
    label(0, rows_of(0), made_by);
    label(1, rows_of(1), made_by);
  }

  RecapConfig config_;
};

TEST_F(RecapReportTest, WhatHasNotRunIsSaid) {
  const std::string html = page();
  for (const char* command : {"flexor recap returns --config FILE", "flexor recap advantages --config FILE",
                              "flexor recap value --config FILE", "flexor recap policy --config FILE"}) {
    EXPECT_THAT(html, HasSubstr(command));
  }
  EXPECT_THAT(html, HasSubstr("2 datasets, of which no step has made anything with this tag yet."));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
  EXPECT_FALSE(fs::exists(config_.output_dir + "/episodes.csv"));
}

TEST_F(RecapReportTest, AfterStepOneReturnsAreShown) {
  compute_returns(config_);
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("Returns of all frames"));
  EXPECT_THAT(html, HasSubstr("No values yet"));
  EXPECT_THAT(html, Not(HasSubstr("Advantages of all frames")));
  const std::vector<std::string> lines = split_text(written("episodes.csv"), '\n');
  EXPECT_EQ(
      lines[0],
      "dataset,type,episode_index,outcome,frames,task,return_first,return_mean,target_mean,value_first,value_mean,"
      "value_last,value_gap,value_spearman,score_mean,score_min,score_max,disagreement,positive_share");
  EXPECT_THAT(lines[1], ::testing::StartsWith("demos,sft,0,demonstration,"));
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.find(",rollout,") != std::string::npos; }),
            open_dataset(root(1)).num_episodes());
  EXPECT_FALSE(fs::exists(config_.output_dir + "/calibration.csv"));
}

TEST_F(RecapReportTest, TheNumbersOfAnEpisodeAreThoseOfTheSidecars) {
  label_all();
  (void)page();
  const std::vector<std::string> lines = split_text(written("episodes.csv"), '\n');
  const data::Dataset tries = open_dataset(root(1));
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [](const std::string& text) { return text.starts_with("tries,rollout,2,"); });
  ASSERT_NE(line, lines.end());
  const std::vector<std::string> fields = split_text(*line, ',');
  ASSERT_EQ(fields.size(), 19U);
  const auto length = static_cast<double>(tries.episode(2).length);
  EXPECT_EQ(fields[3], "failure");
  EXPECT_EQ(std::stod(fields[4]), length);
  EXPECT_EQ(std::stod(fields[6]), -50 - (length - 1));                      // first return
  EXPECT_NEAR(std::stod(fields[8]), -(50 + (length - 1) / 2) / 100, 1e-6);  // mean target
  EXPECT_NEAR(std::stod(fields[10]), -(length - 1) / 2 / 100, 1e-6);        // mean V
  EXPECT_NEAR(std::stod(fields[13]), -1, 1e-12);                            // V falls, returns rise
  EXPECT_NEAR(std::stod(fields[15]), -0.1, 1e-12);                          // smallest A
  EXPECT_NEAR(std::stod(fields[18]), std::ceil(length / 4) / length, 1e-12);
}

TEST_F(RecapReportTest, ThePageHoldsEveryPart) {
  label_all();
  write("value/metrics.jsonl",
        "{\"step\": 1, \"loss\": 5.25, \"mae\": 0.4, \"value_spearman\": 0.1}\n"
        "{\"step\": 2, \"loss\": 3.5, \"mae\": 0.2, \"value_spearman\": 0.7}\n"
        "{\"step\": 2, \"eval/loss\": 3.75, \"eval/value_spearman_tied\": 0.6, \"eval/held/loss\": 3.75}\n");
  write("policy/metrics.jsonl",
        "{\"step\": 1, \"loss\": 1.5, \"positive_conditional_loss\": 1.4, \"unconditional_loss\": 1.6}\n"
        "{\"step\": 1, \"eval/positive_loss\": 1.4, \"eval/negative_loss\": 1.7, \"eval/unconditional_loss\": 1.6}\n");
  write("value/checkpoints/global_step_2/config.json", "{}");
  fs::create_directory_symlink("global_step_2", config_.output_dir + "/value/checkpoints/best");
  const std::string html = page();
  for (const char* part : {"Data and outcomes",
                           "Values of all frames",
                           "V against the return, frames",
                           "means of episodes",
                           "Calibration",
                           "Advantages of all frames",
                           "threshold 0.05",
                           "Positive frames in the course",
                           "a typical success",
                           "a typical failure",
                           "large gap between V and the return",
                           "class=\"shots\"",
                           "data:image/jpeg;base64,",
                           "Loss of the value model",
                           "Rank correlation of V and G",
                           "Training loss by route",
                           "went from 5.25 to 3.5",
                           "best validation loss, 3.75, was at step 2",
                           "value/checkpoints/global_step_2",
                           "checkpoint, best",
                           "positive_rates.csv",
                           "By task"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(html, Not(HasSubstr("class=\"missing\"")));
  EXPECT_THAT(html, Not(HasSubstr("Pictures are not shown")));
  EXPECT_THAT(html, Not(HasSubstr(">nan")));
  EXPECT_LT(html.size(), 5U << 20U);
  EXPECT_TRUE(page() == html);  // the same bytes again
  EXPECT_THAT(written("curves.csv"), HasSubstr("value,eval/held/loss,2.0,3.75\n"));
  EXPECT_THAT(written("calibration.csv"), HasSubstr("bin_low,bin_high,frames,value_mean,target_mean,target_std\n"));
}

TEST_F(RecapReportTest, ALabelKeepsItsColourWhenTheOtherIsMissing) {
  write("policy/metrics.jsonl", "{\"step\": 1, \"eval/negative_loss\": 2}\n{\"step\": 2, \"eval/negative_loss\": 1}\n");
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<polyline class=\"line1\""));
  EXPECT_THAT(html, Not(HasSubstr("<polyline class=\"line0\"")));
}

TEST_F(RecapReportTest, TheBestValidationIsTheSmallestFiniteOne) {
  write("value/metrics.jsonl",
        "{\"step\": 1, \"loss\": 2, \"eval/loss\": null}\n{\"step\": 2, \"loss\": 2, \"eval/loss\": 1.5}\n"
        "{\"step\": 3, \"loss\": 2, \"eval/loss\": NaN}\n{\"step\": 4, \"loss\": 2, \"eval/loss\": 1.75}\n");
  EXPECT_THAT(page(), HasSubstr("Its best validation loss, 1.5, was at step 2."));
  write("value/metrics.jsonl", "{\"step\": 1, \"loss\": 2, \"eval/loss\": NaN}\n");
  EXPECT_THAT(page(), Not(HasSubstr("best validation loss")));
}

TEST_F(RecapReportTest, AValueModelThatLearnedNothingIsToldSo) {
  label_all();
  EXPECT_THAT(page(), Not(HasSubstr("V hardly varies")));
  for (const size_t i : {size_t{0}, size_t{1}}) {
    AdvantageRows rows = rows_of(i);
    std::fill(rows.value_current.begin(), rows.value_current.end(), -0.3);
    label(i, rows, Json::object({{"threshold", 0.05}}));
  }
  EXPECT_THAT(page(), HasSubstr("V hardly varies: its standard deviation is 0, that of the returns 0."));
}

TEST_F(RecapReportTest, PositiveRatesCountForcedLabelsApart) {
  label_all();
  (void)page();
  const AdvantageRows demos = rows_of(0);
  const auto above = std::count_if(demos.advantage_continuous.begin(), demos.advantage_continuous.end(),
                                   [](double score) { return score >= 0.05; });
  EXPECT_THAT(written("positive_rates.csv"), HasSubstr(str_cat("dataset,demos,sft,", demos.size(), ",", demos.size(),
                                                               ",1.0,", above, ",0,0,,0.05\n")));
}

TEST_F(RecapReportTest, TheOrderOfRowsDoesNotMatter) {
  label_all();
  (void)page();
  const std::string before = written("episodes.csv") + written("histograms.csv") + written("positive_rates.csv");
  AdvantageRows rows = rows_of(1);
  std::reverse(rows.episode_index.begin(), rows.episode_index.end());
  std::reverse(rows.frame_index.begin(), rows.frame_index.end());
  std::reverse(rows.returns.begin(), rows.returns.end());
  std::reverse(rows.value_current.begin(), rows.value_current.end());
  std::reverse(rows.advantage_continuous.begin(), rows.advantage_continuous.end());
  std::reverse(rows.advantage.begin(), rows.advantage.end());
  label(1, rows, Json::object({{"threshold", 0.05}, {"return_min", -100.0}, {"return_max", 0.0}}));
  (void)page();
  EXPECT_EQ(written("episodes.csv") + written("histograms.csv") + written("positive_rates.csv"), before);
}

TEST_F(RecapReportTest, TextsOfTheDataStayTexts) {
  const std::string evil = "</script><img src=x onerror=alert(1)> \\\"&'";
  std::ofstream(root(0) + "/meta/tasks.jsonl")
      << "{\"task_index\": 0, \"task\": \"" << evil << "\"}\n{\"task_index\": 1, \"task\": \"b\"}\n";
  config_.data.train_data_paths[0].name = "<b>demos</b>";
  config_.returns.data = config_.advantages.data = config_.data;
  label_all();
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;demos"));
  EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(html, Not(HasSubstr("<b>demos")));
}

TEST_F(RecapReportTest, FilesOfTheReferenceHaveTheirThresholdInMixtureConfig) {
  compute_returns(config_);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const AdvantageRows rows = rows_of(i);
    const auto column = [](const char* name, const auto& values) {
      return table::WriteColumn{.name = name, .values = values};
    };
    table::write_parquet(root(i) + "/meta/advantages.parquet",
                         {column("episode_index", rows.episode_index), column("frame_index", rows.frame_index),
                          column("advantage_continuous", rows.advantage_continuous), column("return", rows.returns),
                          column("value_current", rows.value_current), column("advantage", rows.advantage)});
    std::ofstream(root(i) + "/meta/mixture_config.yaml") << "unified_threshold: 0.0625\npositive_quantile: 0.3\n";
  }
  EXPECT_THAT(page(), HasSubstr("The threshold is 0.0625."));
  const auto labels_alone = [](const AdvantageRows& rows, const std::string& path) {
    table::write_parquet(path, {{.name = "episode_index", .values = rows.episode_index},
                                {.name = "frame_index", .values = rows.frame_index},
                                {.name = "advantage", .values = rows.advantage}});
  };
  labels_alone(rows_of(0), root(0) + "/meta/advantages.parquet");
  labels_alone(rows_of(1), root(1) + "/meta/advantages.parquet");
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("The labels hold no values"));
  EXPECT_THAT(html, Not(HasSubstr("ensemble")));
}

TEST_F(RecapReportTest, AnEnsembleNeedsNoReturns) {
  config_.advantages.advantage.tag = "s";
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const data::Dataset dataset = open_dataset(root(i));
    std::vector<int64_t> episodes, frames;
    std::vector<double> scores, variance;
    std::vector<uint8_t> labels;
    for (int64_t position = 0; position < dataset.num_frames(); ++position) {
      episodes.push_back(dataset.frame_id(position).episode_index);
      frames.push_back(dataset.frame_id(position).frame_index);
      scores.push_back(frames.back() % 3 == 0 ? 0.5 : -0.5);
      variance.push_back(0.01);
      labels.push_back(scores.back() > 0 ? 1 : 0);
    }
    const auto column = [](const char* name, const auto& values) {
      return table::WriteColumn{.name = name, .values = values};
    };
    table::write_parquet(root(i) + "/meta/advantages_s.parquet",
                         {column("episode_index", episodes), column("frame_index", frames), column("advantage", labels),
                          column("advantage_continuous", scores), column("p_progress_variance", variance)},
                         {{std::string(kSidecarMetadata), R"({"method": "steam", "positive_threshold": 0.25})"}});
  }
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("Scores of the ensemble"));
  EXPECT_THAT(html, HasSubstr("the members of the ensemble disagree"));
  EXPECT_THAT(html, HasSubstr("a typical failure"));
  EXPECT_THAT(html, Not(HasSubstr("V against the return")));
  EXPECT_THAT(written("episodes.csv"), HasSubstr("tries,rollout,1,success,"));
  // Without outcomes the episodes are of no kind, and the page says why.
  config_.advantages.data.train_data_paths[1].success_episodes.reset();
  config_.advantages.data.train_data_paths[1].success_from = "episodes";  // which say nothing
  EXPECT_THAT(page(), HasSubstr("the outcomes of its episodes are not known"));
  EXPECT_THAT(written("episodes.csv"), HasSubstr("tries,rollout,1,no outcome,"));
}

TEST_F(RecapReportTest, DamagedSidecarsAreNamed) {
  label_all();
  AdvantageRows rows = rows_of(1);
  rows.value_current[5] = std::numeric_limits<double>::quiet_NaN();
  label(1, rows, Json::object());
  EXPECT_TRUE(throws_error(ErrorKind::kData, "value_current is nan", [&] { (void)page(); }));
  EXPECT_TRUE(throws_error(ErrorKind::kData, "episode 0, frame 5", [&] { (void)page(); }));
  rows = rows_of(1);
  rows.frame_index[3] = 2;
  label(1, rows, Json::object());
  EXPECT_TRUE(throws_error(ErrorKind::kData, "the frame stands twice", [&] { (void)page(); }));
  EXPECT_TRUE(throws_error(ErrorKind::kData, "episode 0, frame 2", [&] { (void)page(); }));
  rows = rows_of(1);
  rows.frame_index.back() += 1000;
  label(1, rows, Json::object());
  EXPECT_TRUE(throws_error(ErrorKind::kData, "a frame that has an advantage has no return", [&] { (void)page(); }));
  fs::resize_file(root(1) + "/meta/advantages.parquet", 200);
  EXPECT_TRUE(throws_error(ErrorKind::kData, "tries/meta/advantages.parquet", [&] { (void)page(); }));
  EXPECT_FALSE(fs::exists(config_.output_dir + "/report.html"));
  fs::remove_all(root(1));
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "no such dataset folder", [&] { (void)page(); }));
}

TEST_F(RecapReportTest, MissingPicturesLeaveASentence) {
  label_all();
  for (const auto& entry : fs::recursive_directory_iterator(root(1) + "/videos")) {
    if (entry.is_regular_file()) {
      fs::resize_file(entry.path(), 1000);
    }
  }
  EXPECT_THAT(page(), HasSubstr("class=\"broken\""));
  fs::resize_file(root(1) + "/meta/info.json", 10);
  EXPECT_THAT(page(), HasSubstr("Pictures are not shown"));
}

TEST_F(RecapReportTest, EpisodesCanBeAskedFor) {
  label_all();
  const std::string html = read_file(write_recap_report(config_, {.output = {}, .episodes = {"demos/4", "tries/0"}}));
  EXPECT_THAT(html, HasSubstr("demos, episode 4: asked for"));
  EXPECT_THAT(html, HasSubstr("tries, episode 0: asked for"));
  for (const char* name : {"demos/99", "others/0", "x", "", "1x"}) {
    EXPECT_TRUE(throws_error(ErrorKind::kConfig, str_cat("the run has no episode '", name, "'"),
                             [&] { write_recap_report(config_, {.output = {}, .episodes = {name}}); }));
  }
}

TEST_F(RecapReportTest, ARunsFolderSaysItsConfiguration) {
  EXPECT_FALSE(is_recap_run(config_.output_dir));
  config_.value.data.tag = "t";
  config_.value.runner.val_check_interval = -1;
  write("value/config.yaml", config::print(config_.value));
  EXPECT_TRUE(is_recap_run(config_.output_dir));
  RecapConfig read = config_of_run(config_.output_dir);
  EXPECT_EQ(read.advantages.advantage.tag, "t");
  EXPECT_EQ(read.advantages.advantage.returns_tag, "t");
  EXPECT_EQ(read.advantages.data.train_data_paths[1].dataset_path, root(1));
  EXPECT_EQ(config_of_run(config_.output_dir, "other").advantages.advantage.tag, "other");
  config_.policy.data.advantage_tag = "labels";
  write("policy/config.yaml", config::print(config_.policy));
  read = config_of_run(config_.output_dir);
  EXPECT_EQ(read.advantages.advantage.tag, "labels");
  EXPECT_EQ(read.advantages.advantage.returns_tag, "t");
  config_.tag = "whole";
  config_.value.data.tag = config_.policy.data.advantage_tag = "";
  write("config.yaml", config::print(config_));
  write("recap_run.json", "{}");
  read = config_of_run(config_.output_dir);
  EXPECT_EQ(read.advantages.advantage.tag, "whole");
  EXPECT_EQ(read.output_dir, config_.output_dir);
}

}  // namespace
}  // namespace flexor::recap
