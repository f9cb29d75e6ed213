// A run that was stopped and continued ends with the same bits as one that was not.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"
#include "testing/sanitized.h"
#include "train/noise.h"
#include "train/train.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;

/// Name of the case, and the keys that make it.
struct Mode {
  std::string name;
  std::vector<std::string> keys;
};
const std::string kGolden = tests_path("golden/pi05_tiny");

std::vector<std::string> with_file(std::vector<std::string> more) {
  more.insert(more.end(), {"policy.path=" + kGolden, "batch_file=" + kGolden + "/inputs.safetensors"});
  return more;
}
std::vector<std::string> with_data(std::vector<std::string> more) {
  more.insert(more.end(), {"dataset.root=" + tests_path("data/datasets/v21_h264"), "policy.chunk_size=6",
                           "policy.n_action_steps=6", "dataset.eval_split=0.3", "eval_freq=3", "max_eval_samples=4",
                           "batch_size=2", "policy.image_resolution=[28, 28]"});
  return more;
}

class Resume : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    base_ = str_cat(::testing::TempDir(), "resume_", GetParam().name);
    fs::remove_all(base_);
  }
  void TearDown() override { fs::remove_all(base_); }

  std::vector<std::string> keys(const std::string& folder, std::vector<std::string> more) const {
    std::vector<std::string> all = {"output_dir=" + base_ + "/" + folder,
                                    "save_freq=2",
                                    "log_freq=1",
                                    "threads=1",
                                    "num_workers=1",
                                    "optimizer.lr=1e-3",
                                    "scheduler.warmup_steps=2",
                                    "scheduler.decay_steps=4"};
    all.insert(all.end(), GetParam().keys.begin(), GetParam().keys.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> recipe() const {
    const bool from_data = GetParam().name.find("data") != std::string::npos;
    return from_data ? std::vector<std::string>{tests_path("../configs/pi05_tiny.yaml")} : std::vector<std::string>{};
  }
  void expect_same_file(const std::string& path) const {
    const SafetensorsFile a = SafetensorsFile::open(base_ + "/whole/checkpoints/000005/" + path);
    const SafetensorsFile b = SafetensorsFile::open(base_ + "/parts/checkpoints/000005/" + path);
    ASSERT_EQ(a.entries().size(), b.entries().size()) << path;
    for (const SafetensorsFile::Entry& entry : a.entries()) {
      if (entry.name != "elapsed_s") {
        EXPECT_TRUE(at::equal(a.get(entry.name), b.get(entry.name))) << path << ": " << entry.name;
      }
    }
  }
  std::string base_;
};

TEST_P(Resume, EndsWithTheSameBits) {
  if (testing::is_sanitized() && GetParam().name == "data_accumulated") {
    GTEST_SKIP() << "other cases run the same code";
  }
  run({recipe(), keys("whole", {"steps=5"})});
  run({recipe(), keys("parts", {"steps=5"})});
  // As after kill -9 during step 4: checkpoint 2 is complete, what came later is not.
  fs::remove_all(base_ + "/parts/checkpoints/000004");
  fs::remove_all(base_ + "/parts/checkpoints/000005");
  run({recipe(), keys("parts", {"steps=5", "resume=true"})});
  int64_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(base_ + "/whole/checkpoints/000005")) {
    if (entry.path().extension() == ".safetensors") {
      expect_same_file(fs::relative(entry.path(), base_ + "/whole/checkpoints/000005").string());
      ++files;
    }
  }
  EXPECT_GE(files, 4);
  EXPECT_FALSE(fs::exists(base_ + "/parts/checkpoints/last.tmp.000005"));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Resume,
    ::testing::Values(
        Mode{"float32_ema", with_file({"ema.enable=true", "ema.decay=0.9"})},
        Mode{"bfloat16_masters", with_file({"policy.dtype=bfloat16", "ema.enable=true"})},
        Mode{"bfloat16_pure", with_file({"policy.dtype=bfloat16", "optimizer.master_dtype=none"})},
        Mode{"bfloat16_autocast", with_file({"policy.dtype=bfloat16_autocast"})},
        Mode{"lora", with_file({"lora.enable=true"})},
        Mode{"lora_openpi_bfloat16", with_file({"lora.enable=true", "lora.style=openpi", "policy.dtype=bfloat16"})},
        Mode{"expert_only", with_file({"policy.train_expert_only=true", "policy.gradient_checkpointing=true"})},
        Mode{"data", with_data({})},
        Mode{"data_accumulated", with_data({"global_batch_size=4", "dataset.image_transforms=openpi"})}),
    [](const auto& test) { return test.param.name; });

TEST(Accumulation, OfTheSameBatchIsTheSameStep) {
  set_log_level(LogLevel::kOff);
  const std::string base = ::testing::TempDir() + "accumulation";
  fs::remove_all(base);
  const auto keys = [&](const std::string& name, const std::string& global) {
    return with_file({"output_dir=" + base + "/" + name, "global_batch_size=" + global, "steps=2", "threads=1",
                      "optimizer.lr=1e-3"});
  };
  run({{}, keys("once", "2")});
  run({{}, keys("twice", "4")});
  const std::string model = "/checkpoints/000002/pretrained_model/model.safetensors";
  const SafetensorsFile once = SafetensorsFile::open(base + "/once" + model),
                        twice = SafetensorsFile::open(base + "/twice" + model);
  for (const SafetensorsFile::Entry& entry : once.entries()) {
    if (!entry.name.ends_with("k_proj.bias")) {  // rounding noise of a zero gradient
      EXPECT_TENSOR_NEAR(twice.get(entry.name), once.get(entry.name), 1e-4, 1e-6) << entry.name;
    }
  }
  fs::remove_all(base);
}

TEST(Noise, BelongsToTheSampleNotToTheBatchSize) {
  schema::PolicyConfig config;
  config.chunk_size = 3;
  config.max_action_dim = 4;
  const FlowDraw four = draw_flow(config, 7, Stream::kTraining, 5, 4),
                 two = draw_flow(config, 7, Stream::kTraining, 5, 2);
  EXPECT_TRUE(at::equal(four.noise.narrow(0, 0, 2), two.noise));
  EXPECT_TRUE(at::equal(four.time.narrow(0, 0, 2), two.time));
  EXPECT_FALSE(at::equal(draw_flow(config, 7, Stream::kTraining, 6, 2).noise, two.noise));
  EXPECT_FALSE(at::equal(draw_flow(config, 8, Stream::kTraining, 5, 2).noise, two.noise));
  EXPECT_FALSE(at::equal(draw_flow(config, 7, Stream::kValidation, 5, 2).noise, two.noise));
}

TEST(Run, StopsAtALossThatIsNotFiniteAndKeepsTheWeights) {
  set_log_level(LogLevel::kOff);
  const std::string out = ::testing::TempDir() + "not_finite";
  fs::remove_all(out);
  std::vector<std::string> keys =
      with_file({"output_dir=" + out, "steps=50", "threads=1", "optimizer.lr=1e3", "scheduler.warmup_steps=0",
                 "optimizer.grad_clip_norm=0", "save_freq=1", "optimizer.weight_decay=1000"});
  try {
    run({{}, keys});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime) << error.what();
    EXPECT_NE(std::string(error.what()).find("not finite"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("lower optimizer.lr"), std::string::npos) << error.hint();
  }
  fs::remove_all(out);
}

}  // namespace
}  // namespace flexor::train
