#include "recap/returns_step.h"

#include <fstream>

#include "base/file.h"
#include "data/dataset.h"
#include "recap/recap_fixture.h"
#include "recap/sidecar.h"
#include "table/parquet_reader.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

RecapConfig config_of(const std::vector<DatasetEntry>& entries) {
  RecapConfig config;
  config.returns.data.train_data_paths = entries;
  return config;
}

/// A dataset folder with one data file and no metadata.
std::string bare_dataset(const std::string& root, const std::vector<int64_t>& episodes,
                         const std::vector<table::WriteColumn>& more, const std::string& file = "a.parquet") {
  std::vector<table::WriteColumn> columns = {{.name = "episode_index", .values = episodes}};
  columns.insert(columns.end(), more.begin(), more.end());
  std::filesystem::create_directories(root + "/meta");
  table::write_parquet(root + "/data/chunk-000/" + file, columns);
  return root;
}

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

class ReturnsStep : public RecapFolder {};

TEST_F(ReturnsStep, EqualsTheReference) {
  for (const Json& item : golden_json("returns_datasets.json").as_array()) {
    const std::string name = item.at("name").as_string();
    const Json& arguments = item.at("args");
    const std::string root = copy_of("golden/recap/returns_datasets/" + name + "/input", name);
    RecapConfig config = config_of({{.dataset_path = root, .type = arguments.at("dataset_type").as_string()}});
    DataSection& data = config.returns.data;
    data.gamma = arguments.at("gamma").as_double();
    data.failure_reward = arguments.at("failure_reward").as_double();
    data.tag = arguments.at("tag").is_null() ? "" : arguments.at("tag").as_string();
    const std::vector<ReturnsReport> reports = compute_returns(config);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].sidecar, root + "/meta/" + sidecar_name("returns", data.tag));

    const auto reader = table::ParquetReader::open(reports[0].sidecar);
    const Json &table = item.at("table"), &schema = item.at("schema");
    ASSERT_EQ(reader.columns().size(), schema.size());
    for (size_t i = 0; i < schema.size(); ++i) {
      EXPECT_EQ(reader.columns()[i].name, schema.as_object()[i].first);
      EXPECT_EQ(reader.columns()[i].type_text, schema.as_object()[i].second.as_string());
    }
    EXPECT_EQ(reader.read_texts("prompt"), table.at("prompt").as_strings());
    for (const char* column : {"episode_index", "frame_index", "return", "reward"}) {
      const std::vector<double> expected = table.at(column).as_numbers();
      const auto found = reader.read_numeric(column);
      ASSERT_EQ(found.rows, static_cast<int64_t>(expected.size()));
      for (int64_t row = 0; row < found.rows; ++row) {
        const double value = expected[static_cast<size_t>(row)];
        EXPECT_NEAR(found.at(row), value, data.gamma == 1 ? 0 : 1e-5 * std::abs(value)) << name << " " << column;
      }
    }
    const std::string expected = testing::tests_path("golden/recap/returns_datasets/" + name + "/expected/");
    EXPECT_EQ(read_file(root + "/meta/info.json"), read_file(expected + "info.json"));
    const Json stats = Json::read_file(root + "/meta/stats.json"), wanted = Json::read_file(expected + "stats.json");
    ASSERT_EQ(stats.size(), wanted.size());
    for (const auto& [feature, values] : wanted.as_object()) {
      for (const auto& [stat, value] : values.as_object()) {
        const std::vector<double> a = stats.at(feature).at(stat).as_numbers(), b = value.as_numbers();
        ASSERT_EQ(a.size(), b.size());
        EXPECT_EQ(stats.at(feature).at(stat).type_name(), value.type_name());
        for (size_t i = 0; i < a.size(); ++i) {
          EXPECT_NEAR(a[i], b[i], 1e-6 * std::abs(b[i])) << feature << " " << stat;
        }
      }
    }
  }
}

TEST_F(ReturnsStep, KeepsTheStatisticsOfEveryTag) {
  const std::string root = copy_of("golden/recap/returns_datasets/rollout/input", "d");
  RecapConfig config = config_of({{.dataset_path = root, .type = "rollout"}});
  config.returns.data.tag = "a";
  compute_returns(config);
  config.returns.data.tag = "b";
  config.returns.data.failure_reward = -7;
  compute_returns(config);
  EXPECT_EQ(sidecar_tags(root, "returns"), (std::vector<std::string>{"a", "b"}));
  const ReturnsSidecar a = read_returns(root, "a"), b = read_returns(root, "b");
  EXPECT_EQ(a.range(), (ReturnRange{-307, 0}));
  EXPECT_EQ(b.range(), (ReturnRange{-14, 0}));
  EXPECT_EQ(a.made_by->at("return").at("min").as_double(), -307);
  EXPECT_EQ(a.made_by->at("successes").as_int(), 1);
  EXPECT_TRUE(a.has_success());
  EXPECT_EQ(Json::read_file(root + "/meta/stats.json").at("return").at("min").as_double(), -14);
  EXPECT_EQ(common_range({&a, &b}, std::nullopt, std::nullopt), (ReturnRange{-307, 0}));
  EXPECT_EQ(common_range({&a, &b}, -500, 1), (ReturnRange{-500, 1}));
}

TEST_F(ReturnsStep, ReadsOutcomesOfTheMetadataAndOfAList) {
  const std::vector<int64_t> episodes = {0, 0, 1, 1, 1};
  const std::string root = bare_dataset(folder_ + "/d", episodes, {});
  write_text(root + "/meta/episodes.jsonl",
             "{\"episode_index\": 0, \"is_success\": false}\n"
             "{\"episode_index\": 1, \"is_success\": true}\n");
  RecapConfig config = config_of({{.dataset_path = root, .type = "rollout"}});
  compute_returns(config);
  EXPECT_EQ(read_returns(root, "").returns, (std::vector<float>{-301, -300, -2, -1, 0}));
  config.returns.data.train_data_paths[0].success_episodes = std::vector<int64_t>{0};
  compute_returns(config);
  EXPECT_EQ(read_returns(root, "").returns, (std::vector<float>{-1, 0, -302, -301, -300}));
  config.returns.data.train_data_paths[0].success_episodes = std::vector<int64_t>{0, 9};
  EXPECT_TRUE(throws_error(ErrorKind::kData, "the dataset does not have: 9", [&] { compute_returns(config); }));
  write_text(root + "/meta/episodes.jsonl", "{\"episode_index\": 0, \"is_success\": false}\n");
  config.returns.data.train_data_paths[0].success_episodes.reset();
  EXPECT_TRUE(throws_error(ErrorKind::kData, "1 episodes have no is_success in the metadata: 1",
                           [&] { compute_returns(config); }));
  std::filesystem::remove(root + "/meta/episodes.jsonl");
  EXPECT_TRUE(throws_error(ErrorKind::kData, "no outcome of the episodes, which type rollout needs",
                           [&] { compute_returns(config); }));
}

TEST_F(ReturnsStep, ReadsOutcomesOfVersion3Metadata) {
  const std::string root = bare_dataset(folder_ + "/d", {4, 4, 5}, {});
  table::write_parquet(root + "/meta/episodes/chunk-000/file-000.parquet",
                       {{.name = "episode_index", .values = std::vector<int64_t>{4, 5}},
                        {.name = "is_success", .values = std::vector<uint8_t>{1, 0}}});
  table::write_parquet(root + "/meta/tasks.parquet", {{.name = "task_index", .values = std::vector<int64_t>{0}},
                                                      {.name = "task", .values = std::vector<std::string>{"fold"}}});
  compute_returns(config_of({{.dataset_path = root, .type = "eval"}}));
  EXPECT_EQ(read_returns(root, "").returns, (std::vector<float>{-1, 0, -300}));
}

TEST_F(ReturnsStep, TakesFramesAndTasksAsTheyAre) {
  const std::string root = bare_dataset(folder_ + "/d", {0, 0, 0},
                                        {{.name = "frame_index", .values = std::vector<int64_t>{5, 6, 8}},
                                         {.name = "task_index", .values = std::vector<int64_t>{0, 1, 1}}});
  write_text(root + "/meta/tasks.jsonl", "{\"task\": \"a\"}\n");
  compute_returns(config_of({{.dataset_path = root}}));
  EXPECT_EQ(read_returns(root, "").frame_index, (std::vector<int64_t>{5, 6, 8}));
  EXPECT_EQ(table::ParquetReader::open(root + "/meta/returns.parquet").read_texts("prompt"),
            (std::vector<std::string>{"a", "perform the task", "perform the task"}));
  EXPECT_FALSE(std::filesystem::exists(root + "/meta/info.json"));
}

TEST_F(ReturnsStep, DoesNotDependOnTheNumberOfThreads) {
  const std::string root = folder_ + "/d";
  for (int64_t e = 0; e < 9; ++e) {
    bare_dataset(root, std::vector<int64_t>(static_cast<size_t>(e + 1), e), {}, str_cat("f", e, ".parquet"));
  }
  RecapConfig config = config_of({{.dataset_path = root}});
  std::vector<std::string> files;
  for (const int64_t threads : {0, 1, 5}) {
    config.returns.data.num_workers = threads;
    compute_returns(config);
    files.push_back(read_file(root + "/meta/returns.parquet"));
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
}

TEST_F(ReturnsStep, WritesIntoACopy) {
  const std::string root = copy_of("golden/recap/returns_datasets/sft/input", "d");
  const auto copies = [&] { compute_returns(config_of({{.dataset_path = root, .output_path = folder_ + "/out"}})); };
  write_text(folder_ + "/out/mine.txt", "is nobody's to remove");
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "is no copy of an earlier run", copies));
  std::filesystem::remove(folder_ + "/out/mine.txt");
  copies();
  write_text(folder_ + "/out/old.txt", "of the earlier copy");
  copies();
  EXPECT_EQ(sidecar_tags(root, "returns").size(), 0U);
  EXPECT_EQ(read_returns(folder_ + "/out", "").returns.size(), 10U);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out/old.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/out/data/chunk-000/episode_000001.parquet"));
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "one holds the other", [&] {
    compute_returns(config_of({{.dataset_path = root, .output_path = root + "/meta/copy"}}));
  }));
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "write into the same dataset", [&] {
    compute_returns(config_of({{.dataset_path = root}, {.dataset_path = folder_ + "/out/../d"}}));
  }));
}

TEST_F(ReturnsStep, WritesNothingIfOneDatasetIsBroken) {
  const std::string good = bare_dataset(folder_ + "/good", {0, 0}, {});
  const std::string bad = folder_ + "/bad";
  const auto broken = [&](const std::string& part) {
    const auto result = throws_error(ErrorKind::kData, part, [&] {
      compute_returns(config_of({{.dataset_path = good}, {.dataset_path = bad, .type = "rollout"}}));
    });
    std::filesystem::remove_all(bad);
    return result;
  };
  bare_dataset(bad, {0, 0, 1, 1, 0}, {{.name = "is_success", .values = std::vector<uint8_t>{0, 0, 0, 0, 1}}});
  EXPECT_TRUE(broken("episode 0 stands in two places"));
  bare_dataset(bad, {0, 0}, {{.name = "is_success", .values = std::vector<double>{1, std::nan("")}}});
  EXPECT_TRUE(broken("the episode has no outcome"));
  bare_dataset(bad, {0, 0}, {{.name = "is_success", .values = std::vector<uint8_t>{1, 1}}});
  write_text(bad + "/data/z.parquet", "");
  EXPECT_TRUE(broken("0 bytes"));
  bare_dataset(bad, {0, 0}, {{.name = "is_success", .values = std::vector<uint8_t>{1, 1}}});
  bare_dataset(bad, {1, 1}, {}, "z.parquet");
  EXPECT_TRUE(broken("no column is_success, which other files of the dataset have"));
  bare_dataset(bad, {0, 0},
               {{.name = "frame_index", .values = std::vector<int64_t>{1, 1}},
                {.name = "is_success", .values = std::vector<uint8_t>{1, 1}}});
  EXPECT_TRUE(broken("frame_index 1 stands twice"));
  EXPECT_FALSE(std::filesystem::exists(good + "/meta/returns.parquet"));
  EXPECT_TRUE(
      throws_error(ErrorKind::kFile, "no such folder", [&] { compute_returns(config_of({{.dataset_path = bad}})); }));
}

TEST_F(ReturnsStep, LeavesALeRobotDatasetReadable) {
  for (const char* name : {"v21_h264", "v30_from_v21"}) {
    const std::string root = copy_of(str_cat("data/datasets/", name), name);
    const data::Dataset before = open_dataset(root);
    const std::vector<ReturnsReport> reports = compute_returns(config_of({{.dataset_path = root}}));
    EXPECT_EQ(reports[0].frames, before.num_frames());
    const data::Dataset after = open_dataset(root);
    EXPECT_EQ(after.num_frames(), before.num_frames());
    EXPECT_EQ(after.stats().count("action"), before.stats().count("action"));
    const std::vector<float> returns = returns_of(after, read_returns(root, ""));
    int64_t position = 0;
    for (int64_t e = 0; e < after.num_episodes(); ++e) {
      const int64_t length = after.episode(e).length;
      for (int64_t t = 0; t < length; ++t) {
        ASSERT_EQ(returns[static_cast<size_t>(position++)], static_cast<float>(t + 1 - length));
      }
    }
  }
}

TEST_F(ReturnsStep, UnknownTagsListWhatThereIs) {
  const std::string root = bare_dataset(folder_ + "/d", {0, 0}, {});
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "the dataset has no returns", [&] { read_returns(root, "x"); }));
  RecapConfig config = config_of({{.dataset_path = root}});
  config.returns.data.tag = "fail300";
  compute_returns(config);
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "no returns with the tag 'x'; tags there are: 'fail300'",
                           [&] { read_returns(root, "x"); }));
  EXPECT_TRUE(throws_error(ErrorKind::kFile, "no returns with the tag none", [&] { read_returns(root, ""); }));
}

TEST_F(ReturnsStep, ARewardThatIsNoNumberIsRefused) {
  const std::string root = bare_dataset(folder_ + "/d", {3, 3}, {});
  table::write_parquet(root + "/meta/returns.parquet",
                       {{.name = "episode_index", .values = std::vector<int64_t>{3, 3}},
                        {.name = "frame_index", .values = std::vector<int64_t>{0, 1}},
                        {.name = "return", .values = std::vector<float>{-1, 0}},
                        {.name = "reward", .values = std::vector<float>{-1, std::nanf("")}}});
  EXPECT_TRUE(
      throws_error(ErrorKind::kData, "reward is nan, expected a finite number", [&] { read_returns(root, ""); }));
  EXPECT_TRUE(throws_error(ErrorKind::kData, "episode 3, frame 1", [&] { read_returns(root, ""); }));
}

}  // namespace
}  // namespace flexor::recap
