#include "curate/stats_write.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "curate/damaged_dataset_fixture.h"
#include "curate/dimension_notes.h"
#include "curate/stats_diff.h"
#include "data/dataset_stats.h"

namespace flexor::curate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<const data::FeatureInfo*> numeric_features(const StatsSource& source) {
  std::vector<const data::FeatureInfo*> features;
  for (const data::FeatureInfo& feature : source.numeric) {
    features.push_back(&feature);
  }
  return features;
}

DatasetStats compute(const StatsSource& source, bool per_episode = false) {
  ThreadPool pool(2);
  return dataset_stats(source, numeric_features(source), pool, {.per_episode = per_episode});
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error.what()) + " (" + error.where() + ")";
  }
  return "no error";
}

TEST(StatsWrite, EntriesOfOthersStay) {
  const DamagedDataset dataset("v30_from_v21");
  dataset.edit_json("meta/stats.json", [](Json& stats) {
    stats["return"] = Json::object({{"mean", -3.5}, {"std", 1}, {"min", -10}, {"max", 0}});
  });
  const Json before = Json::read_file(dataset.path("meta/stats.json"));
  const StatsSource source = open_stats_source(dataset.root());
  EXPECT_FALSE(stored_stats_state(source, numeric_features(source)).is_complete());
  EXPECT_THAT(write_stats(source, compute(source)), ElementsAre("meta/stats.json"));

  const Json after = Json::read_file(dataset.path("meta/stats.json"));
  EXPECT_EQ(after.at("return"), before.at("return"));
  EXPECT_EQ(after.at("observation.images.top"), before.at("observation.images.top"));
  EXPECT_EQ(after.at("action").at("q99").size(), 7U);
  EXPECT_TRUE(stored_stats_state(source, numeric_features(source)).is_complete());
}

TEST(StatsWrite, OlderVersionKeepsStatisticsOfEpisodes) {
  const DamagedDataset dataset("v21_h264");
  const StatsSource source = open_stats_source(dataset.root());
  const DatasetStats stats = compute(source, /*per_episode=*/true);
  const std::string lines = read_file(dataset.path("meta/episodes_stats.jsonl"));
  EXPECT_THAT(write_stats(source, stats), ElementsAre("meta/episodes_stats.jsonl", "meta/stats.json"));
  EXPECT_NE(read_file(dataset.path("meta/episodes_stats.jsonl")), lines);
  std::vector<data::Finding> findings;
  const schema::NormStats stored = data::read_stored_stats(source.info, findings);
  EXPECT_EQ(stored.find("action")->second.values, stats.all.find("action")->second.values);
  EXPECT_TRUE(stored.contains("observation.images.top"));  // from the episodes
  EXPECT_TRUE(findings.empty());

  dataset.remove("meta/episodes_stats.jsonl");
  EXPECT_TRUE(stored_stats_state(source, numeric_features(source)).needs_episodes);
  write_stats(source, stats);
  EXPECT_FALSE(stored_stats_state(source, numeric_features(source)).needs_episodes);
}

TEST(StatsWrite, OldestVersionHasStatisticsOfTheDatasetOnly) {
  const DamagedDataset dataset("v21_h264");
  dataset.remove("meta/episodes_stats.jsonl");
  dataset.edit_json("meta/info.json", [](Json& info) { info["codebase_version"] = "v2.0"; });
  const StatsSource source = open_stats_source(dataset.root() + "/");
  EXPECT_FALSE(stored_stats_state(source, numeric_features(source)).needs_episodes);
  EXPECT_THAT(write_stats(source, compute(source)), ElementsAre("meta/stats.json"));
  EXPECT_TRUE(stored_stats_state(source, numeric_features(source)).is_complete());
}

TEST(StatsWrite, LinesOfEpisodesKeepWhatElseTheyHold) {
  const DamagedDataset dataset("v21_h264");
  std::string lines = read_file(dataset.path("meta/episodes_stats.jsonl"));
  dataset.write("meta/episodes_stats.jsonl", lines.substr(lines.find('\n') + 1));  // episode 0 is missing
  const std::string grip = R"("grip": {"min": [1], "max": [1], "mean": [1], "std": [0], "count": [45]})";
  dataset.replace("meta/episodes_stats.jsonl", "\"stats\": {", "\"note\": \"kept\", \"stats\": {" + grip + ", ");
  const StatsSource source = open_stats_source(dataset.root());
  EXPECT_TRUE(stored_stats_state(source, numeric_features(source)).needs_episodes);
  write_stats(source, compute(source, /*per_episode=*/true));
  lines = read_file(dataset.path("meta/episodes_stats.jsonl"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 6);
  EXPECT_THAT(lines, AllOf(HasSubstr("\"note\": \"kept\""), HasSubstr(grip), HasSubstr("\"episode_index\": 0")));
}

TEST(StatsWrite, StatisticsOfOtherFramesDoNotReplaceThoseOfTheEpisodes) {
  const DamagedDataset dataset("v21_h264");
  const StatsSource source = open_stats_source(dataset.root());
  DatasetStats stats = compute(source);
  stats.all["action"].values["count"] = {99};
  write_stats(source, stats);
  std::vector<data::Finding> findings;
  const schema::NormStats stored = data::read_stored_stats(source.info, findings);
  EXPECT_FALSE(stored.find("action")->second.has("q01"));
  EXPECT_TRUE(stored.find("observation.state")->second.has("q01"));
  EXPECT_FALSE(read_stats_of(dataset.root()).find("action")->second.has("q01"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "stats_outdated");
}

TEST(StatsWrite, StdThatOverflowedIsIncomplete) {
  const DamagedDataset dataset("v30_av1");  // all ten statistics, the std of pictures is that of an overflow
  const StatsSource source = open_stats_source(dataset.root());
  std::vector<const data::FeatureInfo*> features = numeric_features(source);
  EXPECT_TRUE(stored_stats_state(source, features).is_complete());
  for (const data::FeatureInfo& camera : source.cameras) {
    features.push_back(&camera);
  }
  EXPECT_EQ(stored_stats_state(source, features).incomplete.size(), 2U);
}

TEST(StatsWrite, NumbersThatAreNotFiniteAreNamed) {
  const DamagedDataset dataset("v21_h264");
  const std::string file = "data/chunk-000/episode_000002.parquet";
  dataset.set<float>(file, "action", 7 * 5 + 3, std::numeric_limits<float>::quiet_NaN());
  const StatsSource source = open_stats_source(dataset.root());
  EXPECT_THAT(error_of([&] { compute(source); }),
              AllOf(HasSubstr("action holds nan in dimension 3"), HasSubstr(file), HasSubstr("episode 2, frame 5")));
  dataset.set<float>(file, "action", 7 * 5 + 3, std::numeric_limits<float>::infinity());
  EXPECT_THAT(error_of([&] { compute(source); }), HasSubstr("holds inf in dimension 3"));
}

TEST(DimensionNotes, NameWhatNormalisationWouldMakeOfADimension) {
  const DamagedDataset dataset("v21_h264");
  const StatsSource source = open_stats_source(dataset.root());
  schema::NormStats stats = compute(source).all;
  std::vector<DimensionNote> notes = dimension_notes(stats, source.numeric);
  const auto constant = std::ranges::find(notes, DimensionNote::Kind::kConstant, &DimensionNote::kind);
  ASSERT_NE(constant, notes.end());
  EXPECT_EQ(constant->feature, "action");
  EXPECT_EQ(constant->dimension, 4);
  const auto sparse = std::ranges::find_if(
      notes, [](const DimensionNote& note) { return note.feature == "action" && note.dimension == 6; });
  ASSERT_NE(sparse, notes.end());
  EXPECT_EQ(sparse->kind, DimensionNote::Kind::kSparse);
  for (const auto& [mode, min, max] : sparse->normalized) {
    if (mode == "QUANTILE10") {  // q10 = q90 = 0: the rare 1 becomes 2e8
      EXPECT_NEAR(max, 2e8 - 1, 1);
    } else if (mode == "MIN_MAX") {
      EXPECT_NEAR(min, -1, 1e-12);
      EXPECT_NEAR(max, 1, 1e-12);
    }
  }
  EXPECT_THAT(describe(notes),
              ::testing::Contains(AllOf(HasSubstr("action[6]"), HasSubstr("QUANTILE10 maps 0 .. 1 to -1 .. 2e+08"))));
  EXPECT_THAT(describe(notes), ::testing::Contains(HasSubstr("action: constant dimensions [4] (a4) = 0; ")));

  for (auto& [stat, values] : stats["observation.state"].values) {  // an encoder that trembles
    values[0] = stat == "std" ? 1e-5 : 1.5 + (stat == "max" || stat == "q90" ? 2e-5 : 0.0);
  }
  notes = dimension_notes(stats, source.numeric);
  const auto nearly = std::ranges::find(notes, DimensionNote::Kind::kNearlyConstant, &DimensionNote::kind);
  ASSERT_NE(nearly, notes.end());
  EXPECT_EQ(nearly->feature, "observation.state");
}

TEST(StatsDiff, ComparesStatisticsOfOtherNamesToo) {
  const DamagedDataset dataset("v21_h264");
  write_stats(open_stats_source(dataset.root()), compute(open_stats_source(dataset.root())));
  const std::string file = dataset.path("meta/stats.json");
  std::filesystem::copy_file(file, dataset.path("other.json"));
  dataset.edit_json("other.json", [](Json& json) {
    json["action"]["foo"] = Json(std::vector<double>{1, 2});
    json["index"]["note"] = "text";
  });
  const schema::NormStats a = read_stats_of(file), b = read_stats_of(dataset.path("other.json"));
  for (const bool is_turned : {false, true}) {
    for (const FeatureDiff& diff : is_turned ? stats_diff(b, a) : stats_diff(a, b)) {
      const std::string side = is_turned ? "A" : "B";
      if (diff.feature == "action") {
        EXPECT_THAT(diff.missing, ElementsAre("foo: only in " + side));
      } else if (diff.feature == "index") {
        EXPECT_THAT(diff.missing, ElementsAre("note: only in " + side));
      }
      EXPECT_EQ(diff.differs(1e9), diff.feature == "action" || diff.feature == "index") << diff.feature;
    }
  }
  EXPECT_FALSE(std::ranges::any_of(stats_diff(b, b), [](const FeatureDiff& diff) { return diff.differs(0); }));
  std::filesystem::copy_file(dataset.path("other.json"), file, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(read_stats_of(dataset.root()).find("action")->second.has("foo"));
}

TEST(StatsDiff, FindsTheLargestDifferenceOfEachDimension) {
  const DamagedDataset dataset("v21_h264");
  const StatsSource source = open_stats_source(dataset.root());
  const schema::NormStats a = compute(source).all;
  schema::NormStats b = a;
  for (const FeatureDiff& diff : stats_diff(a, b)) {
    EXPECT_FALSE(diff.differs(0)) << diff.feature;
  }
  b["action"].values["mean"][2] += 0.5 * a.find("action")->second.at("std")[2];
  b["index"].values.erase("q50");
  b.erase("timestamp");
  b["extra"] = b["action"];
  for (const FeatureDiff& diff : stats_diff(a, b)) {
    if (diff.feature == "action") {
      EXPECT_NEAR(diff.largest(), 0.5, 1e-12);
      EXPECT_EQ(diff.dimensions[2].stat, "mean");
      EXPECT_EQ(diff.dimensions[1].relative, 0);
    } else if (diff.feature == "index") {
      EXPECT_THAT(diff.missing, ElementsAre("q50: only in A"));
    } else if (diff.feature == "timestamp" || diff.feature == "extra") {
      EXPECT_TRUE(diff.differs(1e9));
    } else {
      EXPECT_FALSE(diff.differs(0)) << diff.feature;
    }
  }
}

}  // namespace
}  // namespace flexor::curate
