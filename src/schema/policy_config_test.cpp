#include "schema/policy_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/finding.h"
#include "config/load.h"
#include "config/print.h"

namespace flexor::schema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json golden(const std::string& type) {
  return Json::read_file(std::string(FLEXOR_TESTS_DIR) + "/golden/" + type + "_tiny/config.json");
}

std::string error_of(const Json& json) {
  try {
    policy_config_from_json(json, "config.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    return format_error(error);
  }
  ADD_FAILURE() << "no error";
  return "";
}

class PolicyConfigTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Types, PolicyConfigTest, testing::Values("pi0", "pi05"));

TEST_P(PolicyConfigTest, LeRobotsFileIsWrittenBackByteForByte) {
  const Json json = golden(GetParam());
  EXPECT_EQ(to_json(policy_config_from_json(json, "config.json")).dump(4), json.dump(4));
}

TEST_P(PolicyConfigTest, DefaultsAreThoseOfTheReference) {
  const PolicyConfig config = default_policy_config(GetParam());
  EXPECT_EQ(config.tokenizer_max_length, GetParam() == "pi0" ? 48 : 200);
  EXPECT_EQ(config.normalization_mapping.at(FeatureType::kAction),
            GetParam() == "pi0" ? NormMode::kMeanStd : NormMode::kQuantiles);
  EXPECT_TRUE(check(config, "").empty());
  const Json written = to_json(config);
  const Json file = golden(GetParam());
  for (const auto& [key, value] : file.as_object()) {
    EXPECT_TRUE(key == "architecture" || written.find(key) != nullptr) << key;
  }
}

TEST_P(PolicyConfigTest, TravelsThroughTheRunsConfiguration) {
  PolicyConfig config = policy_config_from_json(golden(GetParam()), "config.json");
  config.optimizer_lr = 1e-5;
  PolicyConfig again = default_policy_config(GetParam());
  std::vector<std::string> overrides;
  for (const auto& [key, value] : config::flatten(config)) {
    overrides.push_back(key + "=" + value);
  }
  config::load(again, {{}, overrides});
  EXPECT_EQ(config::flatten(again), config::flatten(config));
  EXPECT_EQ(again.architecture, config.architecture);
}

TEST(PolicyConfig, ReadsSizesAndFeatures) {
  const PolicyConfig config = policy_config_from_json(golden("pi05"), "config.json");
  EXPECT_EQ(config.sizes().vocab_size, 512);
  EXPECT_EQ(config.sizes().action_expert.width, 16);
  EXPECT_EQ(config.action_dim(), 6);
  EXPECT_EQ(config.state_dim(), 6);
  std::vector<std::string> names;
  for (const PolicyFeature& camera : config.cameras()) {
    names.push_back(camera.name);
  }
  EXPECT_THAT(names, ElementsAre("observation.images.base_0_rgb", "observation.images.left_wrist_0_rgb",
                                 "observation.images.empty_camera_0"));
  EXPECT_THAT(config.cameras()[1].shape, ElementsAre(3, 40, 30));
}

TEST(PolicyConfig, WithoutArchitectureTheVariantsDecide) {
  Json json = golden("pi0");
  json.erase("architecture");
  const PolicyConfig config = policy_config_from_json(json, "config.json");
  EXPECT_EQ(config.sizes(), Architecture{});
  EXPECT_EQ(config.sizes().paligemma.mlp_dim, 16384);
  EXPECT_EQ(config.sizes().action_expert.mlp_dim, 4096);
  const Json written = to_json(config);
  EXPECT_EQ(written.find("architecture"), nullptr);
}

TEST(PolicyConfig, EmptyCamerasAreAddedOnce) {
  PolicyConfig config = default_policy_config("pi0");
  config.empty_cameras = 2;
  config.input_features = {{"observation.images.empty_camera_1", FeatureType::kVisual, {3, 8, 8}}};
  ASSERT_EQ(config.cameras().size(), 2u);
  EXPECT_EQ(config.cameras()[1].name, "observation.images.empty_camera_0");
  EXPECT_THAT(config.cameras()[1].shape, ElementsAre(3, 224, 224));
}

TEST(PolicyConfig, UnknownFieldsAreKept) {
  Json json = golden("pi05");
  json["memory_frames"] = Json(6);
  const PolicyConfig config = policy_config_from_json(json, "config.json");
  EXPECT_EQ(to_json(config).at("memory_frames").as_int(), 6);
}

TEST(PolicyConfig, AutocastIsWrittenAsTheDtypeOfItsWeights) {
  PolicyConfig config = default_policy_config("pi05");
  config.dtype = "bfloat16_autocast";
  EXPECT_EQ(to_json(config).at("dtype").as_string(), "float32");
}

TEST(PolicyConfig, RtcTravels) {
  PolicyConfig config = default_policy_config("pi05");
  config.rtc_config = RtcConfig{.enabled = true, .prefix_attention_schedule = "EXP", .max_guidance_weight = 5};
  const PolicyConfig again = policy_config_from_json(to_json(config), "");
  ASSERT_TRUE(again.rtc_config);
  EXPECT_EQ(again.rtc_config->prefix_attention_schedule, "EXP");
  EXPECT_EQ(again.rtc_config->max_guidance_weight, 5.0);
}

TEST(PolicyConfig, BadFilesAreNamed) {
  Json json = golden("pi05");
  json["chunk_size"] = Json("ten");
  json["dtype"] = Json("float16");
  EXPECT_THAT(error_of(json), HasSubstr("'chunk_size': expected an integer, found 'ten' (config.json)"));
  EXPECT_THAT(error_of(json), HasSubstr("'dtype': expected one of float32, bfloat16"));
  json = golden("pi05");
  json["type"] = Json("act");
  EXPECT_THAT(error_of(json), HasSubstr("unknown policy type 'act', expected pi0 or pi05"));
  json.erase("type");
  EXPECT_THAT(error_of(json), HasSubstr("the key 'type' is missing"));
  json = golden("pi05");
  json["architecture"]["rms_norm_eps"] = Json(1e-5);
  EXPECT_THAT(error_of(json), HasSubstr("rms_norm_eps"));
  json = golden("pi05");
  json["input_features"]["observation.state"]["type"] = Json("SOUND");
  EXPECT_THAT(error_of(json), HasSubstr("observation.state"));
  EXPECT_THAT(error_of(Json::array()), HasSubstr("config.json"));
  json = golden("pi05");
  json["output_features"]["action"]["shape"] = Json(std::vector<int64_t>{-1});
  EXPECT_THAT(error_of(json), HasSubstr("'shape': expected sizes of 1 to 1048576, found -1 (config.json, action)"));
}

TEST(PolicyConfig, EveryWrongTypeHasAPlaceAndAHint) {
  const Json whole = golden("pi05");
  for (const auto& [key, original] : whole.as_object()) {
    for (const Json& value : {Json(), Json(-1), Json("x"), Json::array(), Json::object({{"a", Json()}}), Json(true)}) {
      Json json = whole;
      json[key] = value;
      try {
        policy_config_from_json(json, "config.json");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
        EXPECT_THAT(error.where(), HasSubstr("config.json")) << key << " = " << value.dump();
        EXPECT_FALSE(error.hint().empty()) << key << " = " << value.dump() << ": " << error.what();
      }
    }
  }
}

TEST(PolicyConfig, RulesAcrossFieldsNameTheirKeys) {
  PolicyConfig config = policy_config_from_json(golden("pi05"), "");
  config.n_action_steps = 11;
  config.max_action_dim = 4;
  config.image_resolution = {28, 42};
  config.architecture->action_expert.depth = 3;
  config.extra["use_visual_memory"] = Json(true);
  std::vector<std::string> keys;
  for (const config::Finding& finding : check(config, "policy.")) {
    keys.push_back(finding.key);
  }
  EXPECT_THAT(keys,
              testing::UnorderedElementsAre("policy.n_action_steps", "policy.max_action_dim", "policy.image_resolution",
                                            "policy.architecture.action_expert.depth", "policy.use_visual_memory"));
}

TEST(PolicyConfig, ReadsOpenpisOwnConfig) {
  const Json json = Json::parse(
      R"({"action_dim": 32, "action_horizon": 15, "paligemma_variant": "gemma_2b", "action_expert_variant": "gemma_300m",
          "precision": "bfloat16"})",
      "");
  const PolicyConfig config = policy_config_from_openpi(json, "pi05", "config.json");
  EXPECT_EQ(config.chunk_size, 15);
  EXPECT_EQ(config.dtype, "bfloat16");
  EXPECT_THROW(policy_config_from_openpi(Json::parse(R"({"paligemma_variant": "dummy"})", ""), "pi0", "f"), Error);
}

TEST(PolicyFeature, NamesOfEnumerationsTravel) {
  for (const FeatureType type : {FeatureType::kVisual, FeatureType::kLanguage}) {
    EXPECT_EQ(feature_type_from_name(feature_type_name(type)), type);
  }
  EXPECT_EQ(norm_mode_from_name("QUANTILE10"), NormMode::kQuantile10);
  EXPECT_THROW(norm_mode_from_name("MEANSTD"), Error);
}

}  // namespace
}  // namespace flexor::schema
