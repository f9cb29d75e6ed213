#include "cli/bench_steps.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "cli/bench_config.h"
#include "testing/error_text.h"
#include "testing/golden.h"
#include "train/train.h"

namespace flexor::cli {
namespace {

using flexor::testing::error_text;
using flexor::testing::tests_path;
using ::testing::HasSubstr;

const std::string kPolicy = tests_path("golden/pi05_tiny"), kBatch = tests_path("golden/pi05_tiny/inputs.safetensors");

BenchSource source_of(std::string policy, std::string batch, std::vector<std::string> keys) {
  BenchSource source;
  source.policy = std::move(policy);
  source.batch = std::move(batch);
  source.overrides = std::move(keys);
  return source;
}

/// Losses of a training run, step by step, from its metrics.jsonl.
std::vector<double> trained_losses(std::vector<std::string> keys, const std::string& name) {
  const std::string folder = str_cat(::testing::TempDir(), "bench_steps_", getpid(), "_", name);
  std::filesystem::remove_all(folder);
  for (const char* key : {"log_freq=1", "save_freq=0"}) {
    keys.emplace_back(key);
  }
  keys.push_back("output_dir=" + folder);
  train::run({.files = {}, .overrides = keys});
  std::vector<double> losses;
  std::ifstream lines(folder + "/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    losses.push_back(Json::parse(line, folder).at("loss").as_double());
  }
  std::filesystem::remove_all(folder);
  return losses;
}

/// The keys that once were left out of what a bench with a configuration measured.
TEST(BenchSteps, TakesTheStepsOfATrainingRun) {
  const std::vector<std::vector<std::string>> variants = {
      {"optimizer.lr=0.01", "optimizer.grad_clip_norm=0.1", "scheduler.warmup_steps=2", "scheduler.decay_steps=3"},
      {"attention.impl=exact", "policy.dtype=bfloat16", "policy.rope_frequencies=exact", "optimizer.lr=0.01"},
      {"lora.enable=true", "lora.style=openpi", "lora.r=2", "optimizer.lr=0.01"},
      {"global_batch_size=4", "ema.enable=true", "policy.gradient_checkpointing=true", "optimizer.lr=0.01"},
  };
  for (size_t i = 0; i < variants.size(); ++i) {
    std::vector<std::string> keys = variants[i];
    for (const std::string& key : {"policy.path=" + kPolicy, "batch_file=" + kBatch, std::string("steps=4")}) {
      keys.push_back(key);
    }
    train::TrainerParts run = train::open_run(bench_plan(source_of("", "", keys), {}, {}));
    const StepTimings timings = measure_steps(run, /*warmup=*/1, /*steps=*/3);
    EXPECT_EQ(timings.losses, trained_losses(keys, std::to_string(i)));
    EXPECT_EQ(timings.steps.wall_s.size(), 3u);
    EXPECT_EQ(timings.optimizer_s.size(), 3u);
    EXPECT_GT(timings.losses.front(), timings.losses.back());
  }
}

TEST(BenchPlan, FlagsStandForKeysAndWinOverThem) {
  BenchSource plain = source_of(kPolicy, kBatch, {});
  plain.dtype = "bfloat16";
  plain.threads = 1;
  const train::RunPlan plan = bench_plan(plain, {"lora.enable=true"}, {"steps=30000", "optimizer.master_dtype=none"});
  EXPECT_EQ(plan.config.policy.path, kPolicy);
  EXPECT_EQ(plan.config.policy.config.dtype, "bfloat16");
  EXPECT_EQ(plan.config.optimizer.master_dtype, "none");
  EXPECT_EQ(plan.schedule_steps, 30000);
  EXPECT_TRUE(plan.config.lora.enable);
  BenchSource configured = plain;
  configured.overrides = {"policy.dtype=float32", "threads=3"};
  const train::RunPlan other = bench_plan(configured, {}, {"steps=30000", "optimizer.master_dtype=none"});
  EXPECT_EQ(other.config.policy.config.dtype, "bfloat16");
  EXPECT_EQ(other.config.threads, 1);
  EXPECT_EQ(other.config.optimizer.master_dtype, "float32");  // the defaults of a plain bench are not a configuration's
}

TEST(BenchPlan, WhatCannotBeMeasuredIsRefused) {
  EXPECT_THAT(error_text([] { bench_plan(source_of(kPolicy, "", {}), {}, {}); }), HasSubstr("no batch was given"));
  EXPECT_THAT(error_text([] { bench_plan(source_of("", kBatch, {}), {}, {}); }), HasSubstr("no policy was given"));
  EXPECT_THAT(error_text([] { bench_plan(source_of(kPolicy, kBatch, {"resume=auto"}), {}, {}); }),
              HasSubstr("a bench measures a new run, found resume=auto"));
}

}  // namespace
}  // namespace flexor::cli
