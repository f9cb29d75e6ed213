#include "recap/steam_labels.h"

#include "recap/advantages.h"
#include "recap/mixture_config.h"
#include "recap/recap_fixture.h"
#include "recap/relabel.h"
#include "recap/threshold.h"
#include "table/parquet_reader.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

constexpr int64_t kStride = 4;

/// Two members whose logits are numbers of the two frames of a pair.
class FakePairs final : public PairJudge {
 public:
  StrideBins bins() const override { return {.k = kStride, .num_bins = 4}; }
  int64_t num_members() const override { return 2; }
  data::BatchFormat format(const CameraSlots& slots) override {
    data::BatchFormat format{.height = 14, .width = 14, .action_horizon = 0};
    for (const auto& [slot, camera] : slots) {
      format.cameras.push_back(camera);
    }
    return format;
  }

  static at::Tensor logits(int64_t episode, int64_t first, int64_t second) {
    std::vector<float> values;
    for (int64_t i = 0; i < 8; ++i) {
      values.push_back(static_cast<float>((episode * 31 + first * 17 + second * 7 + i * 13) % 11) / 4.0F);
    }
    return at::tensor(values).view({2, 4});
  }

  Json identity() const override { return Json("fake"); }
  SteamScores scores(const data::RawBatch& batch, const CameraSlots&) override {
    if (calls++ == fail_at) {
      throw Error(ErrorKind::kRuntime, "the power is gone");
    }
    const size_t half = batch.episodes.size() / 2;
    std::vector<at::Tensor> all;
    for (size_t i = 0; i < half; ++i) {
      EXPECT_EQ(batch.episodes[i], batch.episodes[half + i]);
      all.push_back(logits(batch.episodes[i], batch.frames[i], batch.frames[half + i]));
    }
    return steam_scores(at::stack(all, 1), bins());
  }

  int64_t calls = 0, fail_at = -1;
};

class SteamLabels : public RecapFolder {
 protected:
  void SetUp() override {
    RecapFolder::SetUp();
    DataSection& data = config_.advantages.data;
    data.robot_type = "auto";
    data.train_data_paths = {{.dataset_path = copy_of("data/datasets/v21_h264", "sft"), .type = "sft"},
                             {.dataset_path = copy_of("data/datasets/v30_from_v21", "rollout"), .type = "rollout"}};
    config_.advantages.advantage.batch_size = 19;
    config_.advantages.advantage.num_dataloader_workers_per_gpu = 1;
    config_.advantages.advantage.tag = "s";
  }
  std::string root(size_t i) const { return config_.advantages.data.train_data_paths[i].dataset_path; }

  RecapConfig config_;
};

TEST_F(SteamLabels, ScoreEveryPairAndZeroTheLastFrames) {
  FakePairs judge;
  const AdvantagesResult result = label_with_steam(config_, judge);
  const data::Dataset dataset = open_dataset(root(1));
  const AdvantageFile file = read_advantages(root(1), "s");
  const auto reader = table::ParquetReader::open(file.path);
  const auto members = reader.read_numeric("member_values");
  ASSERT_EQ(members.width, 2);
  ASSERT_EQ(file.rows.size(), static_cast<size_t>(dataset.num_frames()));
  EXPECT_EQ(result.judged, 2 * (dataset.num_frames() - dataset.num_episodes()));
  for (int64_t i = 0; i < dataset.num_frames(); ++i) {
    const auto [episode, frame] = dataset.frame_id(i);
    const int64_t last = dataset.episode(dataset.episode_number(i)).length - 1;
    const double score = file.rows.advantage_continuous[static_cast<size_t>(i)];
    if (frame == last) {
      EXPECT_EQ(score, 0);
      EXPECT_EQ(members.at(i, 1), 0);
      continue;
    }
    const at::Tensor logits = FakePairs::logits(episode, frame, std::min(frame + kStride, last));
    const SteamScores one = steam_scores(logits.unsqueeze(1), judge.bins());
    EXPECT_NEAR(score, one.min.item<double>(), 1e-7);
    EXPECT_NEAR(members.at(i, 1), one.member_values[1].item<double>(), 1e-7);
  }
  EXPECT_EQ(result.threshold, positive_threshold(file.rows.advantage_continuous, 0.3));
  for (size_t i = 0; i < file.rows.size(); ++i) {
    EXPECT_EQ(file.rows.advantage[i] != 0, file.rows.advantage_continuous[i] > result.threshold);
  }
  EXPECT_EQ(result.reports[0].positive, result.reports[0].frames);
  const Json entry = read_mixture_config(root(1) + "/meta/mixture_config.yaml").at("tags").at("s");
  EXPECT_EQ(entry.at("positive_threshold").as_double(), result.threshold);
  EXPECT_EQ(entry.at("num_positive").as_int(), result.reports[1].positive);
  EXPECT_EQ(entry.find("expert_quantile"), nullptr);
}

TEST_F(SteamLabels, GoOnWhereARunStopped) {
  config_.advantages.advantage.flush_interval = 2;
  FakePairs whole;
  label_with_steam(config_, whole);
  const std::string path = root(1) + "/meta/advantages_s.parquet", other = root(1) + "/meta/whole.parquet";
  std::filesystem::rename(path, other);
  FakePairs broken;
  broken.fail_at = whole.calls / 2 + 3;
  EXPECT_TRUE(throws_error(ErrorKind::kRuntime, "the power is gone", [&] { label_with_steam(config_, broken); }));
  EXPECT_FALSE(std::filesystem::exists(path));
  FakePairs rest;
  const AdvantagesResult result = label_with_steam(config_, rest);
  EXPECT_EQ(broken.calls - 1 + rest.calls, whole.calls);
  EXPECT_GT(result.resumed, 0);
  EXPECT_FALSE(std::filesystem::exists(root(0) + "/meta/advantages_s.shards"));
  EXPECT_FALSE(std::filesystem::exists(root(1) + "/meta/advantages_s.shards"));
  const auto before = table::ParquetReader::open(other), after = table::ParquetReader::open(path);
  for (const auto& column : after.columns()) {
    EXPECT_EQ(after.read_numeric(column.name).values, before.read_numeric(column.name).values) << column.name;
  }
}

TEST_F(SteamLabels, MayBeRelabelled) {
  FakePairs judge;
  label_with_steam(config_, judge);
  const RelabelResult result = relabel(config_, {.new_tag = "t", .threshold = 0.5});
  const auto before = table::ParquetReader::open(root(1) + "/meta/advantages_s.parquet");
  const auto after = table::ParquetReader::open(root(1) + "/meta/advantages_t.parquet");
  ASSERT_EQ(after.columns().size(), before.columns().size());
  for (size_t i = 0; i < after.columns().size(); ++i) {
    const std::string& name = after.columns()[i].name;
    EXPECT_EQ(name, before.columns()[i].name);
    if (name != "advantage") {
      EXPECT_EQ(after.read_numeric(name).values, before.read_numeric(name).values) << name;
    }
  }
  EXPECT_EQ(result.reports[1].positive, result.reports[1].above);
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "the dataset has no returns",
                           [&] { relabel(config_, {.new_tag = "u", .lookahead = 5}); }));
}

TEST_F(SteamLabels, NeedFramesForTheirThreshold) {
  FakePairs judge;
  config_.advantages.data.train_data_paths.pop_back();
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "label_mode quantile needs rollout frames",
                           [&] { label_with_steam(config_, judge); }));
  config_.advantages.advantage.expert_quantile = 0.25;
  const AdvantagesResult result = label_with_steam(config_, judge);
  EXPECT_EQ(result.threshold, positive_threshold(read_advantages(root(0), "s").rows.advantage_continuous, 0.25));
  EXPECT_LT(result.reports[0].positive, result.reports[0].frames);
}

}  // namespace
}  // namespace flexor::recap
