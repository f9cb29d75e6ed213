// A checkpoint that was damaged after it was written is refused with the file's name, or skipped when it is incomplete.
#include "train/training_state.h"

#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"
#include "train/train.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DamagedCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    run_ = ::testing::TempDir() + "damaged_checkpoint";
    fs::remove_all(run_);
    const std::string golden = tests_path("golden/pi05_tiny");
    run({{},
         {"output_dir=" + run_, "policy.path=" + golden, "batch_file=" + golden + "/inputs.safetensors", "steps=2",
          "save_freq=1", "threads=1", "policy.dtype=bfloat16", "ema.enable=true"}});
  }
  void TearDown() override { fs::remove_all(run_); }

  std::string newest() const { return run_ + "/checkpoints/000002"; }
  std::string file(const std::string& name) const { return newest() + "/training_state/" + name; }
  std::string resumed(int steps = 3) const {
    try {
      run({{}, {"resume=" + run_, "steps=" + std::to_string(steps)}});
    } catch (const Error& error) {
      return format_error(error);
    }
    return "no error";
  }
  std::string run_;
};

TEST_F(DamagedCheckpoint, NamesTheFileThatIsMissingEmptyOrCut) {
  for (const char* name :
       {"scheduler_state.json", "rng_state.safetensors", "optimizer_param_groups.json", "optimizer_state.safetensors",
        "training_step.json", "flexor_state.safetensors", "flexor_masters.safetensors", "flexor_ema.safetensors"}) {
    const std::string content = read_file(file(name));
    for (const std::string& damaged : {std::string(), content.substr(0, content.size() / 2), std::string("garbage")}) {
      write_file_atomic(file(name), damaged);
      EXPECT_THAT(resumed(), AllOf(HasSubstr("error: "), HasSubstr(name), HasSubstr("hint: "))) << damaged.size();
    }
    write_file_atomic(file(name), content);
    const std::string text(name);
    if (text != "training_step.json" && text != "optimizer_state.safetensors") {
      fs::remove(file(name));
      EXPECT_THAT(resumed(), AllOf(HasSubstr("no such file"), HasSubstr(name), HasSubstr("older checkpoint")));
      write_file_atomic(file(name), content);
    }
  }
  EXPECT_FALSE(fs::exists(run_ + "/checkpoints/000003"));
  EXPECT_EQ(resumed(), "no error");
}

TEST_F(DamagedCheckpoint, IsRefusedWhenItsFilesAreOfDifferentSteps) {
  for (const char* name : {"scheduler_state.json", "flexor_state.safetensors"}) {
    const std::string content = read_file(file(name));
    fs::copy_file(run_ + "/checkpoints/000001/training_state/" + name, file(name),
                  fs::copy_options::overwrite_existing);
    EXPECT_THAT(resumed(), AllOf(HasSubstr("is of step 1, training_step.json of step 2"), HasSubstr(name)));
    write_file_atomic(file(name), content);
  }
  Json groups = Json::read_file(file("optimizer_param_groups.json"));
  groups.as_array()[0]["params"] = Json(std::vector<int64_t>{0, 1});
  write_file_atomic(file("optimizer_param_groups.json"), groups.dump());
  EXPECT_THAT(resumed(), HasSubstr("lists 2 parameters, the model has "));
}

TEST_F(DamagedCheckpoint, IsSkippedForAnOlderOneWhenItIsIncomplete) {
  for (const char* name : {"training_state/training_step.json", "training_state/optimizer_state.safetensors",
                           "pretrained_model/config.json", "pretrained_model/model.safetensors"}) {
    const std::string path = newest() + "/" + name, content = read_file(path);
    fs::remove(path);
    const CheckpointSearch search = find_checkpoints(run_);
    ASSERT_TRUE(search.newest.has_value());
    EXPECT_EQ(search.newest->step, 1);
    EXPECT_THAT(search.skipped, ::testing::ElementsAre(newest() + " lacks " + name));
    write_file_atomic(path, content);
  }
  EXPECT_EQ(find_checkpoints(run_).newest->step, 2);
  EXPECT_TRUE(is_flexor_checkpoint(*find_checkpoints(run_).newest));
}

TEST_F(DamagedCheckpoint, WithNumbersThatNoTrainingLeavesBehindSaysWhichTensor) {
  const std::string state = file("optimizer_state.safetensors"), content = read_file(state);
  const auto with_values = [](const std::string& path, std::string_view end, double value) {
    std::vector<NamedTensor> tensors;
    std::string changed;
    const SafetensorsFile before = SafetensorsFile::open(path);
    for (const SafetensorsFile::Entry& entry : before.entries()) {
      Tensor tensor = before.get(entry.name).clone();
      if (changed.empty() && entry.name.ends_with(end)) {
        tensor.fill_(value);
        changed = entry.name;
      }
      tensors.push_back({entry.name, tensor});
    }
    write_safetensors(path, tensors, before.metadata());
    return changed;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with_values(state, "/exp_avg_sq", nan);
  EXPECT_THAT(resumed(4), AllOf(HasSubstr("the optimizer's moments of '"), HasSubstr("hold NaN or infinity"),
                                HasSubstr("continue from an older checkpoint")));
  write_file_atomic(state, content);

  const std::string golden = tests_path("golden/pi05_tiny"), policy = ::testing::TempDir() + "damaged_policy";
  fs::remove_all(policy);
  fs::copy(golden, policy, fs::copy_options::recursive);
  with_values(policy + "/model.safetensors", "action_out_proj.weight", nan);
  try {
    run({{},
         {"output_dir=" + policy + "/run", "policy.path=" + policy, "batch_file=" + golden + "/inputs.safetensors",
          "steps=2", "threads=1"}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(format_error(error), AllOf(HasSubstr("the weights hold NaN or infinity from the start: '"),
                                           HasSubstr("action_out_proj.weight' (step 1)"),
                                           HasSubstr("start from other weights, or an older checkpoint")));
  }
  fs::remove_all(policy);
}

TEST_F(DamagedCheckpoint, OrAFolderInPlaceOfTheLinkIsFoundBeforeTheRun) {
  fs::remove(run_ + "/checkpoints/last");
  fs::create_directories(run_ + "/checkpoints/last");
  EXPECT_THAT(resumed(), AllOf(HasSubstr("expected a link"), HasSubstr("checkpoints/last")));
}

}  // namespace
}  // namespace flexor::train
