// Pure bfloat16 training as LeRobot does it (bfloat16 moments, no masters): five steps against the golden.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"
#include "train/train.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;

class Bfloat16Run : public ::testing::TestWithParam<std::string> {};

TEST_P(Bfloat16Run, DoesTheHotSteps) {
  set_log_level(LogLevel::kOff);
  const std::string tiny = tests_path("golden/" + GetParam() + "_tiny"),
                    out = ::testing::TempDir() + "bf16_run_" + GetParam();
  fs::remove_all(out);
  run({{},
       {"policy.path=" + tiny, "batch_file=" + tiny + "/inputs.safetensors", "output_dir=" + out,
        "policy.dtype=bfloat16", "optimizer.master_dtype=none", "optimizer.lr=1e-3", "scheduler.decay_lr=1e-4",
        "scheduler.warmup_steps=2", "scheduler.decay_steps=8", "steps=8", "log_freq=1", "save_freq=0", "threads=1"}});
  const SafetensorsFile expected = SafetensorsFile::open(tiny + "/expected_bf16.safetensors");
  const std::vector<std::string> lines = split_text(read_file(out + "/metrics.jsonl"), '\n');
  for (int64_t k = 0; k < 5; ++k) {
    const Json row = Json::parse(lines.at(static_cast<size_t>(k)), "metrics.jsonl");
    for (const char* name : {"loss", "grad_norm"}) {
      const double want = expected.get(str_cat("bf16.train_hot.", name))[k].item<double>();
      EXPECT_NEAR(row.at(name).as_double(), want, 3e-2 * want) << name << " of step " << k;
    }
  }
  fs::remove_all(out);
}

INSTANTIATE_TEST_SUITE_P(Policies, Bfloat16Run, ::testing::Values("pi05", "pi0"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace flexor::train
