#include "data/processor.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

using flexor::testing::error_text;
using flexor::testing::tests_path;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

schema::PolicyConfig golden_policy(const std::string& type) {
  const std::string path = tests_path(str_cat("golden/processor/", type, "/config.json"));
  return schema::policy_config_from_json(Json::read_file(path), path);
}

ProcessorConfig golden_config(const std::string& type) {
  return read_processor(tests_path("golden/processor/" + type), golden_policy(type));
}

Tokenizer small_tokenizer() {
  return Tokenizer::open(tests_path("golden/tokenizer"));
}

std::string fresh_folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "flexor_processor_" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

RawBatch small_batch() {
  RawBatch raw;
  raw.cameras = {{"observation.images.base_0_rgb", at::zeros({2, 3, 28, 28}, at::kByte)},
                 {"observation.images.unknown", at::zeros({2, 3, 28, 28}, at::kByte)}};
  raw.tasks = {"pick up the red block", "fold"};
  raw.state = at::arange(12, at::kFloat).view({2, 6}) / 10;
  raw.action = at::arange(120, at::kFloat).view({2, 10, 6}) / 100;
  raw.action_is_pad = at::zeros({2, 10}, at::kBool);
  raw.episodes = {7, 8};
  raw.frames = {3, 4};
  return raw;
}

class ProcessorFiles : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, ProcessorFiles, ::testing::Values("pi0", "pi05"));

TEST_P(ProcessorFiles, WhatWasReadIsWrittenBackByteForByte) {
  const std::string source = tests_path(str_cat("golden/processor/", GetParam()));
  const std::string folder = fresh_folder(str_cat("round_trip_", GetParam()));
  write_processor(golden_config(GetParam()), folder);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("policy_")) {
      continue;
    }
    ++files;
    ASSERT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
    if (name.ends_with(".json")) {
      EXPECT_EQ(read_file(folder + "/" + name), read_file(entry.path().string())) << name;
      continue;
    }
    const auto expected = SafetensorsFile::open(entry.path().string()).read_all();
    const auto actual = SafetensorsFile::open(folder + "/" + name).read_all();
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [key, tensor] : expected) {
      ASSERT_TRUE(actual.contains(key)) << key;
      EXPECT_EQ(actual.at(key).scalar_type(), tensor.scalar_type()) << key;
      EXPECT_TRUE(at::equal(actual.at(key), tensor)) << key;
    }
  }
  EXPECT_EQ(files, 4u);
}

TEST_P(ProcessorFiles, ANewPolicyGetsTheSameProcessors) {
  const ProcessorConfig read = golden_config(GetParam());
  const ProcessorConfig made = make_processor_config(golden_policy(GetParam()), read.stats);
  const std::string folder = fresh_folder(str_cat("made_", GetParam()));
  write_processor(made, folder);
  for (const char* name : {"/policy_preprocessor.json", "/policy_postprocessor.json"}) {
    EXPECT_EQ(read_file(folder + name), read_file(tests_path(str_cat("golden/processor/", GetParam(), name))));
  }
}

TEST_P(ProcessorFiles, EverySettingSurvivesTheRoundTrip) {
  ProcessorConfig config = golden_config(GetParam());
  config.rename_map = {{"observation.images.front", "observation.images.base_0_rgb"}};
  config.relative = {
      .enabled = true, .exclude_joints = {"grip"}, .action_names = {{"a", "b", "c", "d", "e", "gripper"}}};
  config.max_length = 77;
  config.eps = 1e-6;
  config.tokenizer_name = "tokenizer";
  config.device = "cuda";
  const std::string folder = fresh_folder(str_cat("settings_", GetParam()));
  write_processor(config, folder);
  const ProcessorConfig again = read_processor(folder, golden_policy(GetParam()));
  EXPECT_EQ(again.rename_map, config.rename_map);
  EXPECT_TRUE(again.relative.enabled);
  EXPECT_EQ(again.relative.exclude_joints, config.relative.exclude_joints);
  EXPECT_EQ(again.relative.action_names, config.relative.action_names);
  EXPECT_EQ(again.max_length, 77);
  EXPECT_EQ(again.eps, 1e-6);
  EXPECT_EQ(again.tokenizer_name, "tokenizer");
  EXPECT_EQ(again.device, "cuda");
  EXPECT_EQ(again.prompt, config.prompt);
  EXPECT_EQ(again.norm_map, config.norm_map);
  EXPECT_EQ(again.features, config.features);
}

TEST(ProcessorFiles, OldPipelinesWithoutRelativeStepsAreRead) {
  const std::string folder = fresh_folder("old");
  Json pre = Json::read_file(tests_path("golden/processor/pi05/policy_preprocessor.json"));
  Json& steps = pre["steps"];
  steps.as_array().erase(steps.as_array().begin() + 2);  // relative_actions_processor
  steps.as_array()[2]["state_file"] = "stats.safetensors";
  write_file_atomic(folder + "/policy_preprocessor.json", pre.dump(2));
  Json post = Json::read_file(tests_path("golden/processor/pi05/policy_postprocessor.json"));
  post["steps"].as_array().erase(post["steps"].as_array().begin() + 1);  // absolute_actions_processor
  post["steps"].as_array()[0]["state_file"] = "stats.safetensors";
  write_file_atomic(folder + "/policy_postprocessor.json", post.dump(2));
  std::filesystem::copy(tests_path("golden/processor/pi05/policy_preprocessor_step_3_normalizer_processor.safetensors"),
                        folder + "/stats.safetensors");
  const ProcessorConfig config = read_processor(folder, golden_policy("pi05"));
  EXPECT_FALSE(config.relative.enabled);
  EXPECT_EQ(config.stats.at("action").values.size(), 10u);
}

TEST(ProcessorFiles, BrokenOnesAreRefused) {
  const auto broken = [](const std::string& name, const std::function<void(Json & pre, Json & post)>& edit) {
    const std::string folder = fresh_folder("broken_" + name);
    std::filesystem::copy(tests_path("golden/processor/pi05"), folder,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    Json pre = Json::read_file(folder + "/policy_preprocessor.json");
    Json post = Json::read_file(folder + "/policy_postprocessor.json");
    edit(pre, post);
    write_file_atomic(folder + "/policy_preprocessor.json", pre.dump(2));
    write_file_atomic(folder + "/policy_postprocessor.json", post.dump(2));
    return error_text([&] { read_processor(folder, golden_policy("pi05")); });
  };
  const auto step = [](Json& json, size_t i) -> Json& { return json["steps"].as_array()[i]; };
  EXPECT_THAT(broken("kind", [&](Json& pre, Json&) { step(pre, 2)["registry_name"] = "my_step"; }),
              HasSubstr("unknown processor step \"my_step\""));
  EXPECT_THAT(broken("order", [&](Json& pre, Json&) { std::swap(step(pre, 3), step(pre, 4)); }),
              AllOf(HasSubstr("stands before normalizer_processor"), HasSubstr("put normalizer_processor first")));
  EXPECT_THAT(broken("state", [&](Json& pre, Json&) { step(pre, 3)["state_file"] = "gone.safetensors"; }),
              HasSubstr("gone.safetensors"));
  EXPECT_THAT(broken("side", [&](Json& pre, Json&) { step(pre, 5)["config"]["padding_side"] = "left"; }),
              HasSubstr("padding_side is \"left\", expected \"right\""));
  EXPECT_THAT(broken("length", [&](Json& pre, Json&) { step(pre, 5)["config"]["max_length"] = int64_t{-5}; }),
              HasSubstr("max_length is -5, expected 1 to"));
  EXPECT_THAT(broken("mode", [&](Json& pre, Json&) { step(pre, 3)["config"]["norm_map"]["ACTION"] = "LOUD"; }),
              HasSubstr("LOUD"));
  EXPECT_THAT(broken("post", [&](Json&, Json& post) { step(post, 1)["config"]["enabled"] = true; }),
              HasSubstr("relative actions are enabled in one processor only"));
  EXPECT_THAT(broken("post_stats", [&](Json&, Json& post) { step(post, 0).erase("state_file"); }),
              HasSubstr("not un-normalised by the statistics"));
  EXPECT_THAT(error_text([] { read_processor("/nonexistent", golden_policy("pi05")); }),
              HasSubstr("policy_preprocessor.json"));
}

/// Calls body(path, node) for every member and element below `json`.
void for_each_node(Json& json, const std::string& path, const std::function<void(const std::string&, Json&)>& body) {
  if (json.is_object()) {
    for (auto& [name, member] : json.as_object()) {
      body(path + "." + name, member);
      for_each_node(member, path + "." + name, body);
    }
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) {
      body(str_cat(path, ".", i), json.as_array()[i]);
      for_each_node(json.as_array()[i], str_cat(path, ".", i), body);
    }
  }
}

TEST_P(ProcessorFiles, WrongTypesAnywhereHaveAPlaceAndAHint) {
  const std::string folder = fresh_folder(std::string("types_") + GetParam());
  std::filesystem::copy(tests_path(std::string("golden/processor/") + GetParam()), folder,
                        std::filesystem::copy_options::recursive);
  int64_t refused = 0;
  for (const char* name : {"/policy_preprocessor.json", "/policy_postprocessor.json"}) {
    Json json = Json::read_file(folder + name);
    for_each_node(json, "", [&](const std::string& path, Json& node) {
      const Json whole = node;
      for (const Json& value :
           {Json(), Json(-1), Json("x"), Json::array(), Json::object({{"a", Json()}}), Json(true)}) {
        node = value;
        write_file_atomic(folder + name, json.dump());
        try {
          read_processor(folder, golden_policy(GetParam()));
        } catch (const Error& error) {
          EXPECT_THAT(error.where(), HasSubstr(folder)) << path << " = " << value.dump() << ": " << error.what();
          EXPECT_FALSE(error.hint().empty()) << path << " = " << value.dump() << ": " << error.what();
          ++refused;
        }
      }
      node = whole;
    });
    write_file_atomic(folder + name, json.dump());
  }
  EXPECT_GT(refused, 100);
  read_processor(folder, golden_policy(GetParam()));
}

TEST(Processor, Pi05WritesTheNormalisedStateIntoThePrompt) {
  ProcessorConfig config = golden_config("pi05");
  config.max_length = 64;
  const Processor processor(config, small_tokenizer());
  RawBatch raw = small_batch();
  const schema::FeatureStats& stats = config.stats.at("observation.state");
  raw.state[0] = at::tensor(stats.at("q01"), at::kDouble).to(at::kFloat);  // normalises to -1: bin 0
  raw.state[1] = at::tensor(stats.at("q99"), at::kDouble).to(at::kFloat);  // normalises to 1: bin 255
  EXPECT_THAT(processor.prompts(raw), ElementsAre("Task: pick up the red block, State: 0 0 0 0 0 0;\nAction: ",
                                                  "Task: fold, State: 255 255 255 255 255 255;\nAction: "));
  const schema::Batch batch = processor.preprocess(raw);
  EXPECT_EQ(batch.tokens.sizes(), at::IntArrayRef({2, 64}));
  EXPECT_EQ(batch.tokens[0][0].item<int64_t>(), processor.tokenizer().special().bos);
  EXPECT_EQ(batch.token_mask[1].sum().item<int64_t>(),
            1 + static_cast<int64_t>(processor.tokenizer().encode(processor.prompts(raw)[1]).size()));
  ASSERT_EQ(batch.cameras.size(), 1u);  // the one that the policy knows
  EXPECT_EQ(batch.cameras[0].pixels.scalar_type(), at::kByte);
}

TEST(Processor, UnnormalizeUndoesPreprocess) {
  for (const char* type : {"pi0", "pi05"}) {
    for (const bool relative : {false, true}) {
      ProcessorConfig config = golden_config(type);
      config.max_length = 64;
      config.relative.enabled = relative;
      const Processor processor(config, small_tokenizer());
      const RawBatch raw = small_batch();
      const schema::Batch batch = processor.preprocess(raw);
      const Tensor padded = at::cat({batch.action, at::ones({2, 10, 2})}, -1);  // as the model returns them
      EXPECT_TENSOR_NEAR(processor.unnormalize(padded, raw.state), raw.action, 1e-5, 1e-5);
      EXPECT_TENSOR_NEAR(processor.unnormalize_state(at::cat({batch.state, at::ones({2, 2})}, -1)), raw.state, 1e-5,
                         1e-5);
    }
  }
}

TEST(Processor, BadValuesAreRefusedWithTheirPlace) {
  ProcessorConfig config = golden_config("pi05");
  config.max_length = 64;
  const Processor processor(config, small_tokenizer());
  RawBatch raw = small_batch();
  raw.action[1][2][5] = std::nan("");
  EXPECT_THAT(error_text([&] { processor.preprocess(raw); }),
              HasSubstr("action is not a finite number at dim 5 (episode 8, frame 4)"));
  raw = small_batch();
  raw.state[0][1] = INFINITY;
  EXPECT_THAT(error_text([&] { processor.preprocess(raw); }),
              HasSubstr("observation.state is not a finite number at dim 1 (episode 7, frame 3)"));
  raw = small_batch();
  raw.state = at::zeros({2, 7});
  EXPECT_THAT(error_text([&] { processor.preprocess(raw); }),
              HasSubstr("observation.state has 7 values a frame, the policy expects 6"));
  raw = small_batch();
  raw.cameras.erase(raw.cameras.begin());
  EXPECT_THAT(error_text([&] { processor.preprocess(raw); }),
              HasSubstr("it has observation.images.unknown, the policy wants"));
}

TEST(Processor, StatisticsThatAreMissingOrOfAnotherDatasetAreRefused) {
  ProcessorConfig config = golden_config("pi05");
  config.stats.at("action").values.erase("q99");
  EXPECT_THAT(error_text([&] { Processor(config, small_tokenizer()); }), HasSubstr("QUANTILES needs `q99` of action"));
  config.stats.erase("action");
  EXPECT_THAT(error_text([&] { Processor(config, small_tokenizer()); }), HasSubstr("no statistics of it at all"));
  config = golden_config("pi05");
  config.stats.at("observation.state").values.at("q01").push_back(0);
  EXPECT_THAT(error_text([&] { Processor(config, small_tokenizer()); }),
              HasSubstr("has 7 values, the policy's feature has 6"));
  config = golden_config("pi05");
  config.norm_map[schema::FeatureType::kVisual] = schema::NormMode::kMeanStd;
  EXPECT_THAT(error_text([&] { Processor(config, small_tokenizer()); }), HasSubstr("VISUAL: IDENTITY"));
}

TEST(Processor, ASavedOneIsCompleteWithItsTokenizer) {
  const Processor processor(golden_config("pi05"), small_tokenizer());
  const std::string folder = fresh_folder("saved");
  processor.save(folder);
  const ProcessorConfig again = read_processor(folder, golden_policy("pi05"));
  EXPECT_EQ(again.tokenizer_name, "tokenizer");
  EXPECT_EQ(Tokenizer::open(folder).encode("fold"), processor.tokenizer().encode("fold"));
  EXPECT_TRUE(has_processor(folder));
  EXPECT_FALSE(has_processor("/nonexistent"));
}

TEST(Processor, WithoutATokenizerOnlyActionsAreServed) {
  const Processor processor(golden_config("pi05"));
  EXPECT_EQ(processor.unnormalize(at::zeros({1, 10, 8}), {}).sizes(), at::IntArrayRef({1, 10, 6}));
  EXPECT_THAT(error_text([&] { processor.preprocess(small_batch()); }), HasSubstr("policy.tokenizer_path="));
}

TEST(Processor, TheBundledTokenizerServesTheTinyRecipes) {
  const Tokenizer tokenizer = Tokenizer::open(tests_path("../configs/assets/tiny_tokenizer.model"));
  EXPECT_EQ(tokenizer.vocab_size(), 1024);
  EXPECT_EQ(tokenizer.special(), SpecialIds{});
  for (const char* text :
       {"Pick up the yellow bottle on the table.\n", "Task: a_b, State: -1 255;\nAction: ", "  é\n\n\n"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_EQ(tokenizer.encode("128").size(), 3u);  // every digit is its own piece
}

TEST(OpenpiNormStats, AreReadWithAndWithoutTheOuterObjectAndCut) {
  const std::string inner = R"({"state": {"mean": [1, 2, 3], "std": [1, 1, 1], "q01": [0, 0, 0], "q99": [1, 1, 1]},)"
                            R"( "actions": {"mean": [4, 5], "std": [1, 2], "q01": [0, 0], "q99": [1, 1]}})";
  const std::string folder = fresh_folder("norm_stats");
  for (const std::string& text : {inner, "{\"norm_stats\": " + inner + "}"}) {
    write_file_atomic(folder + "/norm_stats.json", text);
    EXPECT_THAT(read_openpi_norm_stats(folder + "/norm_stats.json").at("observation.state").at("mean"),
                ElementsAre(1, 2, 3));
    const schema::NormStats cut = read_openpi_norm_stats(folder + "/norm_stats.json", 2, 2);
    EXPECT_THAT(cut.at("observation.state").at("mean"), ElementsAre(1, 2));
    EXPECT_THAT(cut.at("action").at("std"), ElementsAre(1, 2));
    EXPECT_THAT(error_text([&] { read_openpi_norm_stats(folder + "/norm_stats.json", 3, 3); }),
                HasSubstr("of actions has 2 values, the policy needs 3"));
  }
  write_file_atomic(folder + "/norm_stats.json", R"({"state": {"mean": [1], "std": [1]}})");
  EXPECT_THAT(error_text([&] { read_openpi_norm_stats(folder + "/norm_stats.json"); }), HasSubstr("no \"actions\""));
}

}  // namespace
}  // namespace flexor::data
