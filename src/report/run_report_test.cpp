#include "report/run_report.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace flexor::report {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunReportTest : public testing::Test {
 protected:
  RunReportTest() {
    std::string name = (fs::temp_directory_path() / "flexor_report_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~RunReportTest() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((fs::path(folder_) / name).parent_path());
    std::ofstream(fs::path(folder_) / name) << text;
  }
  std::string error_of() {
    try {
      read_run(folder_);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.kind()), 1);
      return format_error(error);
    }
    ADD_FAILURE() << "no error";
    return "";
  }
  std::string folder_;
};

TEST_F(RunReportTest, ShowsCurvesConfigurationAndCheckpoints) {
  write(
      "metrics.jsonl",
      R"({"step": 10, "samples": 80, "epoch": 0.1, "loss": 1.5, "grad_norm": 2.0, "lr": 1e-05, "updt_s": 0.2, "data_s": 0.01, "samples_per_s": 38.0, "data_wait_share": 0.05})"
      "\n"
      R"({"step": 20, "eval_loss": 1.25})"
      "\n"
      R"({"step": 20, "samples": 160, "epoch": 0.2, "loss": 1.0, "grad_norm": NaN, "lr": 2e-05, "updt_s": 0.2, "data_s": 0.01, "samples_per_s": 40.0, "data_wait_share": 0.07, "extra_value": 3})"
      "\n");
  write("config.yaml", "policy:\n  type: pi05\noptimizer:\n  betas: [0.9, 0.95]\nnote: <b>\n");
  write("environment.json", R"({"threads": 2, "torch": "2.13"})");
  write("Pi05_bs8_1p_perf.log", "Final Performance images/sec = 39.5\n");
  write("checkpoints/000020/pretrained_model/model.safetensors", std::string(2048, 'x'));
  fs::create_directory_symlink("000020", fs::path(folder_) / "checkpoints/last");
  write("samples.json", R"({"names": ["shoulder", "gripper"], "samples": [{"episode": 4, "frame": 17,
        "predicted": [[0.1, 1], [0.2, 0]], "recorded": [[0.0, 1], [null, 0]]}]})");
  write("eval.json", R"({"loss": 0.9, "mae": [0.1, 0.2], "mae_by_step": [0.1, null], "names": ["shoulder", "gripper"],
        "baseline_hold_mae": 0.3, "baseline_mean_mae": null, "frames": 99})");
  const std::string path = write_run_report(folder_);
  EXPECT_EQ(path, folder_ + "/report.html");
  const std::string html = read_file(path);
  for (const char* part : {"Training run of pi05", "Gradient norm before clipping", "Learning rate", "Throughput",
                           "Waiting for data", "Time of a step", "extra_value", "held out", "[0.9, 0.95]", "&lt;b&gt;",
                           "2.0 KiB", "Final Performance images/sec", "39.5", "torch", "Episode 4, frame 17",
                           "shoulder", "Mean absolute error per horizon step", "hold still"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(html, Not(HasSubstr("no values")));
  EXPECT_THAT(html, Not(HasSubstr("incomplete")));
}

TEST_F(RunReportTest, AnEvaluationInTheRunsFolderIsFound) {
  write("metrics.jsonl", "{\"step\": 1, \"loss\": 1}\n");
  std::filesystem::create_directories(folder_ + "/eval");
  write("eval/eval.json", R"({"mae": [0.1], "mae_by_step": [0.1], "names": ["shoulder"], "frames": 9})");
  write("eval/samples.json", R"({"names": ["shoulder"], "samples": [
    {"episode": 4, "frame": 17, "predicted": [[0], [1]], "recorded": [[0]]}]})");
  const std::string html = run_page(read_run(folder_));
  EXPECT_THAT(html, HasSubstr("Open-loop evaluation"));
  EXPECT_THAT(html, HasSubstr("Episode 4, frame 17"));
}

TEST_F(RunReportTest, OnlyAPolicysLossIsAFlowMatchingLoss) {
  write("metrics.jsonl", "{\"step\": 1, \"loss\": 1}\n");
  write("config.yaml", "policy: {type: pi0}\n");
  EXPECT_THAT(run_page(read_run(folder_)), HasSubstr("flow-matching loss"));
  write("config.yaml", "actor: {model: {num_bins: 201}}\n");
  EXPECT_THAT(run_page(read_run(folder_)), Not(HasSubstr("flow-matching loss")));
}

TEST_F(RunReportTest, APathOfOtherBytesIsShownAsUtf8) {
  write("r\xFFn/metrics.jsonl", "{\"step\": 1, \"loss\": 1}\n");
  const std::string html = run_page(read_run(folder_ + "/r\xFFn"));
  EXPECT_TRUE(is_utf8(html));
  EXPECT_THAT(html, HasSubstr("/r\xC3\xBFn</p>"));
}

TEST_F(RunReportTest, StepsRepeatedAfterAResumeCountOnce) {
  write("metrics.jsonl",
        "{\"step\": 1, \"loss\": 1}\n{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"loss\": 3}\n"
        "{\"step\": 2, \"loss\": 20}\n{\"step\": 4, \"loss\": 4}\n");
  const RunFiles run = read_run(folder_);
  EXPECT_THAT(run.find("loss")->steps, ElementsAre(1, 2, 4));
  EXPECT_THAT(run.find("loss")->values, ElementsAre(1, 20, 4));
}

TEST_F(RunReportTest, AHalfWrittenLastLineIsSaidNotFatal) {
  write("metrics.jsonl", "{\"step\": 1, \"loss\": 1}\n{\"step\": 2, \"lo");
  const RunFiles run = read_run(folder_);
  EXPECT_EQ(run.num_cut_lines, 1);
  EXPECT_THAT(run_page(run), HasSubstr("last line of metrics.jsonl is incomplete"));
}

TEST_F(RunReportTest, DamagedFilesAreNamed) {
  EXPECT_THAT(error_of(), HasSubstr("no metrics.jsonl"));
  write("metrics.jsonl", "{\"step\": 1}\nnonsense\n{\"step\": 3}\n");
  EXPECT_THAT(error_of(), HasSubstr("metrics.jsonl:2"));
  write("metrics.jsonl", "{\"loss\": 1}\n");
  EXPECT_THAT(error_of(), HasSubstr("'step'"));
  write("metrics.jsonl", "{\"step\": 1}\n");
  write("samples.json", "{");
  EXPECT_THAT(error_of(), HasSubstr("samples.json"));
  folder_ += "/none";
  EXPECT_THAT(error_of(), HasSubstr("no such folder"));
}

TEST_F(RunReportTest, AnEmptyRunGivesAPage) {
  write("metrics.jsonl", "");
  EXPECT_THAT(run_page(read_run(folder_)), HasSubstr("no values"));
}

TEST_F(RunReportTest, OddSamplesAndEvaluationsDoNotCrash) {
  write("metrics.jsonl", "{\"step\": 1, \"loss\": null}\n");
  write("samples.json", R"({"samples": [{"predicted": 3}, 5, {"predicted": [[1], 2, []], "recorded": null}]})");
  write("eval.json", R"({"mae": "x", "names": [1]})");
  EXPECT_NO_THROW(run_page(read_run(folder_)));
}

}  // namespace
}  // namespace flexor::report
