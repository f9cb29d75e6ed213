#include "record.h"

#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "camera.h"
#include "data/batch_reader.h"
#include "data/dataset.h"
#include "labels.h"
#include "rollout.h"
#include "table/parquet_reader.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::place_block {
namespace {

namespace fs = std::filesystem;

/// A folder of its own that goes with the test.
class Record : public testing::Test {
 protected:
  Record() : folder_(fs::temp_directory_path() / ("place_block_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~Record() override { fs::remove_all(folder_); }

  Json record_some(int64_t episodes) const {
    std::ostringstream out;
    record({.root = root(), .episodes = episodes, .seed = 4}, out);
    return Json::parse(out.str(), "record");
  }
  data::Dataset open() const {
    data::DatasetOptions options;
    options.root = root();
    return data::Dataset::open(options);
  }
  std::string root() const { return (folder_ / "data").string(); }

  fs::path folder_;
};

TEST_F(Record, WritesADatasetThatOpens) {
  const Json summary = record_some(12);
  const data::Dataset dataset = open();
  EXPECT_EQ(dataset.num_episodes(), 12);
  EXPECT_EQ(dataset.num_frames(), summary.at("frames").as_int());
  EXPECT_EQ(dataset.cameras().size(), 1);
  const Json stats = Json::read_file(root() + "/meta/stats.json");
  for (const char* name : {"observation.state", "action", "observation.images.top", "is_success"}) {
    EXPECT_NE(stats.find(name), nullptr) << name;
  }
  int64_t behaviours = 0;
  for (const auto& [name, count] : summary.at("behaviours").as_object()) {
    behaviours += count.at("episodes").as_int();
  }
  EXPECT_EQ(behaviours, 12);
  EXPECT_EQ(summary.at("success_episodes").size(), static_cast<size_t>(summary.at("successes").as_int()));
}

TEST_F(Record, KeepsExactlyWhatThePolicyWillSee) {
  record_some(3);
  data::BatchFormat format;
  format.height = format.width = kPictureSize;
  format.action_horizon = 4;
  data::BatchReader reader(std::make_shared<const data::Mixture>(open()), format);
  const data::RawBatch recorded = reader.read(std::vector<int64_t>{0});
  const World world(stream_seed(4, 1, 0));
  const data::RawBatch seen = observe({&world});
  EXPECT_TRUE(at::equal(recorded.cameras.at(0).pixels, seen.cameras.at(0).pixels));
  EXPECT_TRUE(at::equal(recorded.state, seen.state));
  EXPECT_EQ(recorded.cameras.at(0).name, seen.cameras.at(0).name);
  EXPECT_EQ(recorded.tasks, seen.tasks);
}

TEST(RecordEpisode, DependsOnSeedAndNumberAlone) {
  const Episode a = record_episode(1, 5), b = record_episode(1, 5), c = record_episode(2, 5);
  EXPECT_EQ(a.actions, b.actions);
  EXPECT_EQ(a.pictures, b.pictures);
  EXPECT_NE(a.actions, c.actions);
  EXPECT_EQ(a.states.size(), a.actions.size());
  EXPECT_EQ(a.states.size(), a.pictures.size());
}

/// Labels every frame of a behaviour positive, with the advantage 0.5; all others get -0.25.
void write_labels(const std::string& root, std::string_view good) {
  const std::vector<std::string> behaviours =
      table::ParquetReader::open(root + "/meta/episodes/chunk-000/file-000.parquet").read_texts("behaviour");
  std::vector<int64_t> episodes, frames;
  std::vector<double> advantages;
  std::vector<uint8_t> labels;
  for (size_t i = 0; i < behaviours.size(); ++i) {
    for (int64_t frame = 0; frame < 8; ++frame) {
      episodes.push_back(static_cast<int64_t>(i));
      frames.push_back(frame);
      labels.push_back(behaviours[i] == good ? 1 : 0);
      advantages.push_back(behaviours[i] == good ? 0.5 : -0.25);
    }
  }
  table::write_parquet(root + "/meta/advantages_t.parquet", {{.name = "episode_index", .values = episodes},
                                                             {.name = "frame_index", .values = frames},
                                                             {.name = "advantage_continuous", .values = advantages},
                                                             {.name = "advantage", .values = labels}});
}

TEST_F(Record, ShowsLabelsByBehaviour) {
  const Json behaviours = record_some(12).at("behaviours");
  write_labels(root(), "direct");
  std::ostringstream out;
  print_labels({.root = root(), .tag = "t"}, out);
  for (const auto& [name, count] : behaviours.as_object()) {
    const std::string frames = std::to_string(8 * count.at("episodes").as_int());
    const char* rest =
        name == "direct" ? " | 100.0 | +0.500 | 100.0 | +0.500 |\n" : " | 0.0 | -0.250 | 0.0 | -0.250 |\n";
    EXPECT_THAT(out.str(), testing::HasSubstr("| " + name + " | " + frames + rest));
  }
  EXPECT_THROW(print_labels({.root = root(), .tag = "other"}, out), Error);
}

TEST_F(Record, RefusesAFolderWithFiles) {
  fs::create_directories(root());
  write_file_atomic(root() + "/mine.txt", "mine");
  try {
    record_some(1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
    EXPECT_THAT(error.what(), testing::HasSubstr("not empty"));
  }
  EXPECT_EQ(read_file(root() + "/mine.txt"), "mine");
}

}  // namespace
}  // namespace flexor::place_block
