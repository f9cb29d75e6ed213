// Step 3 shared by ranks: what it writes is what a single rank writes, also when they were stopped on the way.
#include <gmock/gmock.h>
#include <iostream>

#include "base/file.h"
#include "dist/ranks_fixture.h"
#include "recap/advantages_step.h"
#include "recap/recap_fixture.h"
#include "recap/returns_step.h"
#include "testing/sanitized.h"

namespace flexor::recap {
namespace {

using ::testing::HasSubstr;

/// V of a frame is a number of its episode and frame; gives up when told so.
class CountingJudge final : public FrameJudge {
 public:
  explicit CountingJudge(int64_t most_calls) : most_calls_(most_calls) {}
  data::BatchFormat format(const CameraSlots& slots) override {
    data::BatchFormat format{.height = 14, .width = 14, .action_horizon = 0};
    for (const auto& [slot, camera] : slots) {
      format.cameras.push_back(camera);
    }
    return format;
  }
  std::vector<float> values(const data::RawBatch& batch, const CameraSlots&) override {
    if (++calls_ > most_calls_) {
      throw Error(ErrorKind::kRuntime, "the device is gone");
    }
    std::vector<float> values;
    for (size_t i = 0; i < batch.episodes.size(); ++i) {
      const auto number = (batch.episodes[i] * 131 + batch.frames[i] * 37) % 101;
      values.push_back(-static_cast<float>(number) / 101.0F);
    }
    return values;
  }
  Json identity() const override { return Json("counting"); }

 private:
  int64_t most_calls_, calls_ = 0;
};

RecapConfig config_in(const std::string& folder) {
  RecapConfig config;
  DataSection& data = config.returns.data;
  data.train_data_paths = {
      {.dataset_path = folder + "/sft", .type = "sft"},
      {.dataset_path = folder + "/rollout", .type = "rollout", .success_episodes = std::vector<int64_t>{1, 3}}};
  data.failure_reward = -50;
  config.advantages.data = data;
  config.advantages.data.robot_type = "auto";
  config.advantages.data.advantage_lookahead_step = 3;
  config.advantages.advantage.batch_size = 7;
  config.advantages.advantage.flush_interval = 3;
  config.advantages.advantage.num_dataloader_workers_per_gpu = 0;
  return config;
}

/// A rank; the last one's judge gives up after TEST_CALLS batches.
TEST(RankBody, DISABLED_judge_frames) {
  const auto group = dist::join_group(dist::resolve_launch(dist::process_env()), {.timeout_s = 20});
  const bool is_last = group->rank() + 1 == group->world();
  CountingJudge judge(is_last ? std::atoll(std::getenv("TEST_CALLS")) : 1000);
  try {
    const AdvantagesResult result = AdvantagesStepRun(config_in(std::getenv("TEST_FOLDER")), group).run(judge);
    std::cout << "judged " << result.judged << " resumed " << result.resumed << '\n';
    EXPECT_EQ(result.is_main, group->is_main());
    group->close();
  } catch (const Error& error) {
    group->report_failure(error.what());
    std::cout << format_error(error);
  }
}

class AdvantagesRanksTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    copy_of("data/datasets/v21_h264", "sft");
    copy_of("data/datasets/v30_from_v21", "rollout");
    compute_returns(config_in(folder_));
    CountingJudge judge(1000);
    frames_ = AdvantagesStepRun(config_in(folder_)).run(judge).judged;
    alone_ = written();
  }
  /// What step 3 wrote; it is gone then.
  std::string written() const {
    std::string all;
    for (const char* name :
         {"/sft/meta/advantages.parquet", "/rollout/meta/advantages.parquet", "/rollout/meta/mixture_config.yaml"}) {
      all += read_file(folder_ + name);
      std::filesystem::remove(folder_ + name);
    }
    return all;
  }
  std::vector<dist::RankEnd> run_ranks(int world, int64_t calls_of_last = 1000) const {
    return dist::Ranks("judge_frames", world, {{"TEST_FOLDER", folder_}, {"TEST_CALLS", std::to_string(calls_of_last)}})
        .wait_all();
  }

  int64_t frames_ = 0;
  std::string alone_;
};

TEST_F(AdvantagesRanksTest, WriteTheBytesOfOneRank) {
  for (const int world : {2, 3}) {
    for (const dist::RankEnd& end : run_ranks(world)) {
      EXPECT_THAT(end.output, HasSubstr(str_cat("judged ", frames_, " resumed 0")));
    }
    EXPECT_EQ(written(), alone_) << world;
  }
}

TEST_F(AdvantagesRanksTest, GoOnWithAnotherNumberOfRanks) {
  if (testing::is_sanitized()) {
    GTEST_SKIP() << "numbers; WriteTheBytesOfOneRank runs the same code";
  }
  const std::vector<dist::RankEnd> ends = run_ranks(3, /*calls_of_last=*/4);
  EXPECT_THAT(ends[0].output, HasSubstr("rank 2 gave up: the device is gone"));
  EXPECT_THAT(ends[1].output, HasSubstr("rank 2 gave up: the device is gone"));
  const int64_t known = 4 * 3 * 7;  // four turns of three batches
  const std::vector<dist::RankEnd> again = run_ranks(2, /*calls_of_last=*/8);
  EXPECT_THAT(again[0].output, HasSubstr("rank 1 gave up"));
  const int64_t known_later = known + 8 * 2 * 7;
  CountingJudge judge(1000);
  const AdvantagesResult last = AdvantagesStepRun(config_in(folder_)).run(judge);
  EXPECT_EQ(last.resumed, known_later);
  EXPECT_EQ(last.judged, frames_ - known_later);
  EXPECT_EQ(written(), alone_);
}

}  // namespace
}  // namespace flexor::recap
