#include "recap/advantages_step.h"

#include <fstream>
#include <set>

#include "recap/advantages.h"
#include "recap/mixture_config.h"
#include "recap/recap_fixture.h"
#include "recap/relabel.h"
#include "recap/returns_step.h"
#include "recap/threshold.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

/// V of a frame is a number of its episode and frame; stops on demand.
class FakeJudge final : public FrameJudge {
 public:
  explicit FakeJudge(std::string name = "fake", int64_t stop_after = -1)
      : name_(std::move(name)), stop_after_(stop_after) {}

  static double value(int64_t episode, int64_t frame) {
    return static_cast<float>(-static_cast<double>((episode * 131 + frame * 37) % 101) / 101.0);
  }

  data::BatchFormat format(const CameraSlots& slots) override {
    data::BatchFormat format{.height = 14, .width = 14, .action_horizon = 0};
    for (const auto& [slot, camera] : slots) {
      format.cameras.push_back(camera);
    }
    return format;
  }
  std::vector<float> values(const data::RawBatch& batch, const CameraSlots&) override {
    if (stop_after_ >= 0 && calls_ >= stop_after_) {
      throw Error(ErrorKind::kRuntime, "the device is gone");
    }
    ++calls_;
    frames_ += batch.size();
    std::vector<float> values;
    for (size_t i = 0; i < batch.episodes.size(); ++i) {
      values.push_back(static_cast<float>(value(batch.episodes[i], batch.frames[i])));
    }
    return values;
  }
  Json identity() const override { return Json(name_); }

  int64_t frames() const { return frames_; }

 private:
  std::string name_;
  int64_t stop_after_, calls_ = 0, frames_ = 0;
};

/// Step 1 and 3 on two small datasets of which one holds failures.
class AdvantagesStepTest : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    sft_ = copy_of("data/datasets/v21_h264", "sft");
    rollout_ = copy_of("data/datasets/v30_from_v21", "rollout");
    config_.returns.data.train_data_paths = {
        {.dataset_path = sft_, .type = "sft"},
        {.dataset_path = rollout_, .type = "rollout", .weight = 2.0, .success_episodes = std::vector<int64_t>{1, 3}}};
    config_.returns.data.failure_reward = -50;
    compute_returns(config_);
    DataSection& data = config_.advantages.data;
    data = config_.returns.data;
    data.robot_type = "auto";
    data.advantage_lookahead_step = 3;
    config_.advantages.advantage.batch_size = 7;
    config_.advantages.advantage.flush_interval = 2;
    config_.advantages.advantage.num_dataloader_workers_per_gpu = 1;
  }

  AdvantagesResult run(FrameJudge& judge) { return AdvantagesStepRun(config_).run(judge); }

  std::string sft_, rollout_;
  RecapConfig config_;
};

TEST_F(AdvantagesStepTest, JudgesEveryFrameOnce) {
  FakeJudge judge;
  const AdvantagesResult result = run(judge);
  const AdvantageFile sft = read_advantages(sft_, ""), rollout = read_advantages(rollout_, "");
  EXPECT_EQ(judge.frames(), static_cast<int64_t>(sft.rows.size() + rollout.rows.size()));
  EXPECT_EQ(result.judged, judge.frames());
  EXPECT_EQ(result.resumed, 0);
  EXPECT_EQ(result.range.max, 0);
  std::vector<double> scores;
  for (const AdvantageFile* file : {&sft, &rollout}) {
    const ReturnsSidecar returns = read_returns(file == &sft ? sft_ : rollout_, "");
    const FrameRows by_frame(returns.episode_index, returns.frame_index, "");
    for (size_t i = 0; i < file->rows.size(); ++i) {
      const int64_t episode = file->rows.episode_index[i], frame = file->rows.frame_index[i];
      const double v = FakeJudge::value(episode, frame);
      EXPECT_EQ(file->rows.value_current[i], v);
      const bool has_next = by_frame.find(episode, frame + 3).has_value();
      const double next = has_next ? FakeJudge::value(episode, frame + 3) : 0.0;
      const auto g = [&](int64_t f) {
        return double{returns.returns[static_cast<size_t>(*by_frame.find(episode, f))]};
      };
      const double raw = has_next ? g(frame) - g(frame + 3) : g(frame);
      EXPECT_NEAR(file->rows.advantage_continuous[i], affine_return(raw, result.range) + next - v, 1e-12);
      scores.push_back(file->rows.advantage_continuous[i]);
    }
  }
  EXPECT_EQ(result.threshold, positive_threshold(scores, 0.3));
  EXPECT_EQ(std::count(sft.rows.advantage.begin(), sft.rows.advantage.end(), 1),
            static_cast<std::ptrdiff_t>(sft.rows.size()));
  for (size_t i = 0; i < rollout.rows.size(); ++i) {
    EXPECT_EQ(rollout.rows.advantage[i] != 0, rollout.rows.advantage_continuous[i] >= result.threshold);
  }
  EXPECT_EQ(rollout.made_by->at("type").as_string(), "rollout");
  const Json mixture = read_mixture_config(rollout_ + "/meta/mixture_config.yaml");
  EXPECT_EQ(mixture.at("datasets").as_array()[1].at("weight").as_double(), 2.0);
  EXPECT_FALSE(std::filesystem::exists(sft_ + "/meta/advantages.shards"));
  const data::Dataset dataset = open_dataset(rollout_);
  EXPECT_EQ(labels_of(dataset, read_advantage_labels(rollout_, "")), rollout.rows.advantage);
}

TEST_F(AdvantagesStepTest, GoesOnWhereItWasStopped) {
  FakeJudge first("fake", 5);
  EXPECT_TRUE(throws_error(ErrorKind::kRuntime, "the device is gone", [&] { run(first); }));
  EXPECT_FALSE(std::filesystem::exists(sft_ + "/meta/advantages.parquet"));
  FakeJudge second;
  const AdvantagesResult resumed = run(second);
  EXPECT_EQ(resumed.resumed, 5 * 7);  // two shards of two batches, and what was on its way when the error came
  EXPECT_EQ(resumed.resumed, first.frames());
  const AdvantageRows with = read_advantages(rollout_, "").rows;
  FakeJudge whole;
  run(whole);
  EXPECT_EQ(read_advantages(rollout_, "").rows.advantage_continuous, with.advantage_continuous);
  EXPECT_EQ(read_advantages(rollout_, "").rows.advantage, with.advantage);
}

TEST_F(AdvantagesStepTest, AnotherModelStartsAnew) {
  FakeJudge first("one", 5);
  EXPECT_TRUE(throws_error(ErrorKind::kRuntime, "gone", [&] { run(first); }));
  FakeJudge other("two");
  EXPECT_EQ(run(other).resumed, 0);
}

TEST_F(AdvantagesStepTest, ABrokenShardIsJudgedAgain) {
  FakeJudge first("fake", 5);
  EXPECT_TRUE(throws_error(ErrorKind::kRuntime, "gone", [&] { run(first); }));
  std::ofstream(sft_ + "/meta/advantages.shards/values_000000000014.parquet") << "cut";
  FakeJudge second;
  EXPECT_EQ(run(second).resumed, 14);
}

TEST_F(AdvantagesStepTest, AnotherBatchSizeKeepsWholeBatches) {
  FakeJudge first("fake", 5);
  EXPECT_TRUE(throws_error(ErrorKind::kRuntime, "gone", [&] { run(first); }));
  config_.advantages.advantage.batch_size = 16;
  FakeJudge second;
  EXPECT_EQ(run(second).resumed, 32);  // of 35
}

TEST_F(AdvantagesStepTest, RefusesWhatWouldGiveWrongLabels) {
  const auto refused = [&](ErrorKind kind, const std::string& part) {
    return throws_error(kind, part, [&] { AdvantagesStepRun step(config_); });
  };
  config_.advantages.advantage.returns_tag = "x";
  EXPECT_TRUE(refused(ErrorKind::kFile, "no returns with the tag 'x'"));
  std::filesystem::copy(sft_ + "/meta/returns.parquet", sft_ + "/meta/returns_x.parquet");
  EXPECT_TRUE(refused(ErrorKind::kData, "the returns are of the tag '', expected 'x'"));
  config_.advantages.advantage.returns_tag = "";

  config_.returns.data.train_data_paths[1].success_episodes = std::vector<int64_t>{};
  compute_returns(config_);
  std::swap(config_.advantages.data.train_data_paths[0], config_.advantages.data.train_data_paths[1]);
  config_.advantages.data.train_data_paths.pop_back();  // only failures are left
  EXPECT_TRUE(refused(ErrorKind::kData, "no dataset has a successful episode"));
  config_.advantages.advantage.allow_no_success = true;
  EXPECT_NO_THROW(AdvantagesStepRun step(config_));
}

TEST_F(AdvantagesStepTest, RefusesReturnsThatDoNotCoverTheData) {
  ReturnsSidecar returns = read_returns(sft_, "");
  returns.episode_index.resize(10), returns.frame_index.resize(10), returns.returns.resize(10),
      returns.rewards.resize(10);
  table::write_parquet(sft_ + "/meta/returns.parquet", {{.name = "episode_index", .values = returns.episode_index},
                                                        {.name = "frame_index", .values = returns.frame_index},
                                                        {.name = "return", .values = returns.returns},
                                                        {.name = "reward", .values = returns.rewards}});
  EXPECT_TRUE(throws_error(ErrorKind::kData, "frames have no row; the first (episode, frame): (0, 10), (0, 11)",
                           [&] { AdvantagesStepRun step(config_); }));
}

TEST_F(AdvantagesStepTest, LabelsThatDoNotCoverTheDataAreRefused) {
  config_.advantages.advantage.max_samples = 11;
  FakeJudge judge;
  run(judge);
  EXPECT_EQ(judge.frames(), 2 * 14);  // and the three that the last rows look ahead to
  EXPECT_EQ(read_advantages(sft_, "").rows.size(), 11U);
  const data::Dataset dataset = open_dataset(sft_);
  EXPECT_TRUE(throws_error(ErrorKind::kData, "(0, 11), (0, 12), (0, 13), (0, 14), (0, 15)",
                           [&] { labels_of(dataset, read_advantage_labels(sft_, "")); }));
}

TEST_F(AdvantagesStepTest, RelabellingNeedsNoModel) {
  FakeJudge judge;
  run(judge);
  config_.advantages.data.advantage_lookahead_step = 5;
  config_.advantages.advantage.tag = "n5";
  FakeJudge again;
  const AdvantagesResult expected = run(again);
  const AdvantageRows wanted = read_advantages(rollout_, "n5").rows;
  const RelabelResult result = relabel(config_, {.source_tag = "", .new_tag = "r", .lookahead = 5});
  EXPECT_EQ(result.threshold, expected.threshold);
  const AdvantageFile found = read_advantages(rollout_, "r");
  EXPECT_EQ(found.rows.advantage_continuous, wanted.advantage_continuous);
  EXPECT_EQ(found.rows.advantage, wanted.advantage);
  EXPECT_EQ(found.made_by->at("lookahead").as_int(), 5);
  EXPECT_EQ(
      read_mixture_config(rollout_ + "/meta/mixture_config.yaml").at("datasets").as_array()[1].at("weight").as_double(),
      2.0);

  EXPECT_EQ(relabel(config_, {.source_tag = "", .new_tag = "r", .threshold = 1e9}).reports[1].positive, 0);
  EXPECT_EQ(relabel(config_, {.source_tag = "", .new_tag = "r", .threshold = 1e9}).reports[0].positive,
            relabel(config_, {.source_tag = "", .new_tag = "r"}).reports[0].frames);
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "no advantages with the tag 'z'; tags there are: none, 'n5', 'r'",
                           [&] { relabel(config_, {.source_tag = "z", .new_tag = "y"}); }));
}

TEST_F(AdvantagesStepTest, TasksMayHaveThresholdsOfTheirOwn) {
  FakeJudge judge;
  run(judge);
  config_.advantages.advantage.threshold_from = "task";
  const RelabelResult result = relabel(config_, {.source_tag = "", .new_tag = "t"});
  const data::Dataset dataset = open_dataset(rollout_);
  std::set<std::string> tasks;
  const AdvantageRows rows = read_advantages(rollout_, "t").rows;
  for (int64_t i = 0; i < dataset.num_frames(); ++i) {
    const std::string& task = dataset.task(i);
    tasks.insert(task);
    const auto row = static_cast<size_t>(i);
    EXPECT_EQ(rows.advantage[row] != 0, rows.advantage_continuous[row] >= result.by_task.at(task));
  }
  EXPECT_EQ(result.by_task.size(), tasks.size());
  FakeJudge again;
  config_.advantages.advantage.tag = "s";
  EXPECT_EQ(run(again).by_task, result.by_task);
  config_.advantages.advantage.threshold_from = "rollout";
  const RelabelResult rollout = relabel(config_, {.source_tag = "s", .new_tag = "t"});
  EXPECT_EQ(rollout.threshold, positive_threshold(rows.advantage_continuous, 0.3));
}

TEST_F(RecapFolder, RelabellingEqualsTheReference) {
  const Json golden = golden_json("relabel.json");
  for (const Json& item : golden.at("main").as_array()) {
    RecapConfig config;
    config.advantages.advantage.positive_quantile = 0.2;  // of the recorded command line
    const Json::Array& datasets = item.at("datasets").as_array();
    for (const Json& dataset : datasets) {
      const std::string root = folder_ + "/" + dataset.at("name").as_string();
      const Json& input = dataset.at("input");
      table::write_parquet(root + "/meta/advantages.parquet",
                           {{.name = "episode_index", .values = integers(input.at("episode_index"))},
                            {.name = "frame_index", .values = integers(input.at("frame_index"))},
                            {.name = "advantage_continuous", .values = input.at("advantage_continuous").as_numbers()},
                            {.name = "advantage", .values = truths(input.at("advantage"))}});
      std::ofstream(root + "/meta/mixture_config.yaml") << item.at("mixture_in").as_string();
      config.advantages.data.train_data_paths.push_back({.dataset_path = root, .type = "sft"});
    }
    relabel(config, {.source_tag = "", .new_tag = "q20", .reference = true});
    for (const Json& dataset : datasets) {
      const std::string root = folder_ + "/" + dataset.at("name").as_string();
      const AdvantageFile file = read_advantages(root, "q20");
      EXPECT_EQ(file.rows.advantage, truths(dataset.at("expected").at("advantage")));
      EXPECT_EQ(file.rows.advantage_continuous, dataset.at("expected").at("advantage_continuous").as_numbers());
      const Json noted = read_mixture_config(root + "/meta/mixture_config.yaml");
      EXPECT_EQ(block_yaml(noted), dataset.at("mixture_config_yaml").as_string());
    }
  }
}

}  // namespace
}  // namespace flexor::recap
