// The reference's training steps, from its weights and from a run that it wrote.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/load.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"
#include "testing/sanitized.h"
#include "train/run_folder.h"
#include "train/train.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;

std::vector<Json> rows_of(const std::string& run_dir) {
  std::vector<Json> rows;
  for (const std::string& line : split_text(read_file(run_dir + "/metrics.jsonl"), '\n')) {
    if (!line.empty()) {
      rows.push_back(Json::parse(line, "metrics.jsonl"));
    }
  }
  return rows;
}

class GoldenRun : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    out_ = str_cat(::testing::TempDir(), "golden_run_", GetParam());
    fs::remove_all(out_);
    tiny_ = tests_path("golden/" + GetParam() + "_tiny");
  }
  void TearDown() override { fs::remove_all(out_); }

  /// Keys that every run here has, and more.
  config::Sources sources(std::vector<std::string> more) const {
    std::vector<std::string> all = {"batch_file=" + tiny_ + "/inputs.safetensors", "log_freq=1", "save_freq=5",
                                    "threads=1"};
    all.insert(all.end(), more.begin(), more.end());
    return {{}, all};
  }
  std::vector<std::string> from_weights(const std::string& what) const {
    std::vector<std::string> keys = {"policy.path=" + tiny_, "output_dir=" + out_};
    if (what == "train_hot") {
      for (const char* key :
           {"optimizer.lr=1e-3", "scheduler.decay_lr=1e-4", "scheduler.warmup_steps=2", "scheduler.decay_steps=8"}) {
        keys.emplace_back(key);
      }
    }
    return keys;
  }

  /// Losses, norms, learning rates and parameters of steps first+1..5 against the golden's.
  void expect_golden(const std::string& what, size_t first, double rtol, double atol) {
    const SafetensorsFile expected = SafetensorsFile::open(tiny_ + "/expected.safetensors");
    const std::vector<Json> rows = rows_of(out_);
    ASSERT_GE(rows.size(), 5 - first);
    for (size_t k = first; k < 5; ++k) {
      const Json& row = rows[k - first];
      const auto want = [&](const char* name) {
        return expected.get(what + "." + name)[static_cast<int64_t>(k)].item<double>();
      };
      EXPECT_EQ(row.at("step").as_int(), static_cast<int64_t>(k) + 1);
      EXPECT_NEAR(row.at("loss").as_double(), want("loss"), 2e-5 + 1e-3 * want("loss")) << "step " << k;
      EXPECT_NEAR(row.at("grad_norm").as_double(), want("grad_norm"), 2e-5 + 1e-3 * want("grad_norm")) << "step " << k;
      EXPECT_NEAR(row.at("lr").as_double(), want("lr_after_step"), 1e-6 * want("lr_after_step")) << "step " << k;
    }
    expect_params(expected, what, rtol, atol);
  }
  void expect_params(const SafetensorsFile& expected, const std::string& what, double rtol, double atol) {
    const SafetensorsFile saved =
        SafetensorsFile::open(out_ + "/checkpoints/000005/pretrained_model/model.safetensors");
    const std::string prefix = what + ".param.";
    int64_t compared = 0;
    for (const SafetensorsFile::Entry& entry : expected.entries()) {
      if (!entry.name.starts_with(prefix) ||
          (entry.name.find("vision_tower") != std::string::npos && entry.name.ends_with("k_proj.bias"))) {
        continue;  // the gradient of a vision key bias is rounding noise, which Adam turns into drift
      }
      const std::string name = entry.name.substr(prefix.size());
      const std::string key = saved.contains("model." + name) ? "model." + name : name;
      EXPECT_TENSOR_NEAR(saved.get(key), expected.get(entry.name), rtol, atol) << name;
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }

  std::string out_, tiny_;
};

TEST_P(GoldenRun, DoesTheHotSteps) {
  std::vector<std::string> keys = from_weights("train_hot");
  keys.emplace_back("steps=10");  // not below the schedule's 8, which would shorten it
  run(sources(keys));
  expect_golden("train_hot", 0, 1e-3, 5e-5);
}

TEST_P(GoldenRun, DoesTheStepsOfThePresetForAHundredSteps) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "numbers of a hundred steps; the hot steps run the same code";
  }
  std::vector<std::string> keys = from_weights("train_preset100");
  keys.emplace_back("steps=100");
  run(sources(keys));
  expect_golden("train_preset100", 0, 1e-4, 2e-6);
}

TEST_P(GoldenRun, ContinuesARunOfLeRobot) {
  fs::copy(tests_path("golden/" + GetParam() + "_tiny_run"), out_, fs::copy_options::recursive);
  run(sources({"resume=" + out_, "steps=5"}));  // the schedule is still the one of 100 steps
  expect_golden("train_hot", 3, 1e-3, 5e-5);
  EXPECT_EQ(fs::read_symlink(out_ + "/checkpoints/last"), "000005");
}

INSTANTIATE_TEST_SUITE_P(Policies, GoldenRun, ::testing::Values("pi05", "pi0"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace flexor::train
