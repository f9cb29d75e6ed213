#include "recap/advantages.h"

#include "base/file.h"
#include "recap/labels.h"
#include "recap/mixture_config.h"
#include "recap/recap_fixture.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

FrameColumns frames_of(const Json& input) {
  return {integers(input.at("episode_index")), integers(input.at("frame_index")), floats(input.at("return")),
          floats(input.at("reward"))};
}

void expect_column(const std::vector<double>& found, const Json& expected, double tolerance, const std::string& name) {
  const std::vector<double> wanted = expected.as_numbers();
  ASSERT_EQ(found.size(), wanted.size()) << name;
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance) << name << ", row " << i;
  }
}

class Advantages : public RecapFolder {};

TEST_F(Advantages, EqualTheReference) {
  for (const Json& item : golden_json("advantages.json").as_array()) {
    const Json& config = item.at("config");
    AdvantageRules rules{.gamma = config.at("gamma").as_double(),
                         .lookahead = config.at("advantage_lookahead_step").as_int(),
                         .discount_next_value = config.at("discount_next_value").as_bool()};
    const Json::Array& datasets = item.at("datasets").as_array();
    for (const Json& dataset : datasets) {
      rules.range.min = std::min(rules.range.min, dataset.at("stats_return").at("min").as_double());
      rules.range.max = std::max(rules.range.max, dataset.at("stats_return").at("max").as_double());
    }
    std::vector<AdvantageRows> all;
    std::vector<MixtureDataset> mixture;
    for (const Json& dataset : datasets) {
      const FrameColumns frames = frames_of(dataset.at("input"));
      check_frame_order(frames, "golden");
      const Json& limit = config.at("max_samples");
      const int64_t rows = limit.is_null() ? frames.size() : std::min(frames.size(), limit.as_int());
      std::vector<double> values = dataset.at("input").at("value").as_numbers();
      values.resize(static_cast<size_t>(std::min(rows + rules.lookahead, frames.size())));  // no more is needed
      all.push_back(n_step_advantages(frames, values, rows, rules));
      mixture.push_back({.name = dataset.at("name").as_string(), .weight = dataset.at("weight").as_double()});
    }
    const double quantile = config.at("positive_quantile").as_double();
    std::vector<LabelPool> pools;
    for (size_t i = 0; i < datasets.size(); ++i) {
      pools.push_back({.name = "", .type = datasets[i].at("type").as_string(), .scores = all[i].advantage_continuous});
    }
    const Labels labels = label_pools(pools, {.positive_quantile = quantile});
    const std::string tag = config.at("tag").is_null() ? "" : config.at("tag").as_string();
    for (size_t i = 0; i < datasets.size(); ++i) {
      AdvantageRows& rows = all[i];
      rows.advantage = labels.labels[i];
      const std::string root = str_cat(folder_, "/", item.at("name").as_string(), i);
      write_advantages(root + "/meta/advantages_x.parquet", rows, datasets[i].at("name").as_string(), Json::object());
      const AdvantageFile file = read_advantages(root, "x");
      const Json& expected = datasets[i].at("expected");
      EXPECT_EQ(file.rows.episode_index, integers(expected.at("episode_index")));
      EXPECT_EQ(file.rows.frame_index, integers(expected.at("frame_index")));
      EXPECT_EQ(file.rows.num_valid_rewards, integers(expected.at("num_valid_rewards")));
      EXPECT_EQ(file.rows.advantage, truths(expected.at("advantage")));
      expect_column(file.rows.advantage_continuous, expected.at("advantage_continuous"), 1e-12, "advantage_continuous");
      expect_column(file.rows.returns, expected.at("return"), 1e-12, "return");
      expect_column(file.rows.value_current, expected.at("value_current"), 1e-12, "value_current");
      expect_column(file.rows.value_next, expected.at("value_next"), 1e-12, "value_next");
      expect_column(file.rows.reward_sum, expected.at("reward_sum"), 1e-12, "reward_sum");
      expect_column(file.rows.reward_sum_raw, expected.at("reward_sum_raw"), 1e-12, "reward_sum_raw");
      EXPECT_EQ(file.dataset_name, expected.at("dataset_name").as_strings().front());
      const auto reader = table::ParquetReader::open(file.path);
      const Json::Object& schema = datasets[i].at("schema").as_object();
      ASSERT_EQ(reader.columns().size(), schema.size());
      for (size_t k = 0; k < schema.size(); ++k) {
        EXPECT_EQ(reader.columns()[k].name, schema[k].first);
        const std::string& type = schema[k].second.as_string();
        EXPECT_EQ(reader.columns()[k].type_text, type == "large_string" ? "string" : type);  // the same in the file
      }
      Json noted = Json::object();
      note_advantages(noted, rules.range, mixture, tag, labels.threshold, quantile);
      EXPECT_EQ(block_yaml(noted), datasets[i].at("mixture_config_yaml").as_string());
    }
  }
}

TEST_F(Advantages, FilesOfTheReferenceAreRead) {
  for (const char* name : {"roll_b", "sft_a"}) {
    const std::string source = testing::tests_path(str_cat("golden/recap/advantages_files/", name, "/"));
    std::filesystem::create_directories(folder_ + "/meta");
    std::filesystem::copy(source + "advantages_demo.parquet", folder_ + "/meta/advantages_demo.parquet",
                          std::filesystem::copy_options::overwrite_existing);
    const AdvantageFile file = read_advantages(folder_, "demo");
    EXPECT_EQ(file.dataset_name, name);
    EXPECT_EQ(file.rows.value_current.size(), file.rows.size());
    EXPECT_FALSE(file.made_by.has_value());
    const std::string yaml = source + "mixture_config.yaml";
    EXPECT_EQ(block_yaml(read_mixture_config(yaml)), read_file(yaml));
  }
}

TEST_F(Advantages, RecomputedOnesEqualTheReferencesRelabelling) {
  const Json golden = golden_json("relabel.json");
  for (const Json& item : golden.at("recompute").as_array()) {
    const Json &input = item.at("input"), &expected = item.at("expected");
    const AdvantageRules rules{
        .gamma = item.at("gamma").as_double(),
        .lookahead = item.at("advantage_lookahead_step").as_int(),
        .range = {item.at("global_return_min").as_double(), item.at("global_return_max").as_double()}};
    const FrameColumns frames = frames_of(input);
    const AdvantageRows rows = n_step_advantages(frames, input.at("value_current").as_numbers(), frames.size(), rules);
    expect_column(rows.advantage_continuous, expected.at("advantage"), 1e-6, "advantage");
    expect_column(rows.reward_sum, expected.at("reward_sum"), 1e-6, "reward_sum");
    expect_column(rows.value_next, expected.at("value_next"), 1e-6, "value_next");
    expect_column(rows.returns, expected.at("return"), 1e-6, "return");
  }
}

TEST_F(Advantages, GapsInAnEpisodeAreRefused) {
  const FrameColumns frames{{0, 0, 1, 1}, {0, 1, 0, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  EXPECT_TRUE(throws_error(ErrorKind::kData, "frame 2 follows frame 0 (here, episode 1)",
                           [&] { check_frame_order(frames, "here"); }));
}

TEST_F(Advantages, AMixtureConfigThatWasCutIsRefused) {
  const std::string path = folder_ + "/mixture_config.yaml";
  const auto refused = [&](const std::string& text, const std::string& part) {
    write_file_atomic(path, text);
    return throws_error(ErrorKind::kData, part, [&] { (void)read_mixture_config(path); });
  };
  EXPECT_TRUE(refused("global_return_min: -20.0\nglobal_return_max: 0.0\nda", "'da': expected a value, found null"));
  EXPECT_TRUE(refused("global_return_min: -20.0\nglobal_return_max:", "'global_return_max': expected a number"));
  EXPECT_TRUE(refused("tags:", "'tags': expected keys and values, found null"));
  EXPECT_TRUE(refused("tags:\n  t:\n", "'tags.t': expected keys and values, found null"));
  EXPECT_TRUE(refused("datasets:\n- name", "'datasets[0]': expected keys and values, found string"));
  EXPECT_TRUE(refused("tags: [1]", "delete the file: it is written again"));
  EXPECT_TRUE(refused("unified_threshold: much", "unified_threshold"));
}

TEST(MixtureConfig, KeepsWhatItDoesNotKnow) {
  Json config = Json::object({{"mine", Json::object({{"a", 1}, {"b", Json::array()}})}, {"global_return_max", 5}});
  note_advantages(config, {-3, 0}, {{.name = "d: e", .return_min = -1e-5}}, "t", 0.5, 0.25);
  EXPECT_EQ(block_yaml(config),
            "mine:\n  a: 1\n  b: []\nglobal_return_max: 0.0\nglobal_return_min: -3.0\ndatasets:\n- name: \"d: e\"\n"
            "  weight: 1.0\n  return_min: -1.0e-05\n  return_max: null\ntags:\n  t:\n    unified_threshold: 0.5\n"
            "    positive_quantile: 0.25\n");
}

}  // namespace
}  // namespace flexor::recap
