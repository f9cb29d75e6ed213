#include "models/weights.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/golden_fixture.h"
#include "models/init.h"
#include "models/key_map.h"
#include "models/vlm_init.h"
#include "nn/named_params.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

using flexor::testing::error_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Files of one test, removed at its end.
class Weights : public ::testing::Test {
 protected:
  Weights() : folder_(std::filesystem::path(::testing::TempDir()) / str_cat("weights_", getpid(), "_", ++count_)) {
    std::filesystem::create_directories(folder_);
  }
  ~Weights() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// The golden's tensors, each under `rename(name without "model.")`; an empty name leaves one out.
  template <typename Rename>
  std::string rewrite(const std::string& file, const Rename& rename) const {
    std::vector<NamedTensor> tensors;
    const SafetensorsFile golden = SafetensorsFile::open(testing::tests_path("golden/pi05_tiny/model.safetensors"));
    for (const auto& entry : golden.entries()) {
      if (const std::string name = rename(entry.name.substr(6)); !name.empty()) {
        tensors.emplace_back(name, golden.get(entry.name));
      }
    }
    write_safetensors(path(file), tensors);
    return path(file);
  }

  std::filesystem::path folder_;
  inline static int count_ = 0;
};

std::unique_ptr<PolicyModel> tiny(const std::string& dtype = "float32") {
  auto config = GoldenPolicy::open("pi05").model->config();
  config.dtype = dtype;
  auto model = make_policy(config);
  auto generator = make_generator(1);
  init_weights(*model, generator);
  return model;
}

std::map<std::string, Tensor> by_name(PolicyModel& model) {
  std::map<std::string, Tensor> params;
  for (const auto& [name, parameter] : nn::named_params(model)) {
    params[name] = parameter;
  }
  return params;
}

TEST_F(Weights, WhatIsSavedLoadsAgainUnderLeRobotsNames) {
  const GoldenPolicy golden = GoldenPolicy::open("pi05");
  save_weights(*golden.model, path("model.safetensors"));
  const SafetensorsFile saved = SafetensorsFile::open(path("model.safetensors"));
  const SafetensorsFile original = SafetensorsFile::open(golden.folder + "model.safetensors");
  ASSERT_EQ(saved.entries().size(), original.entries().size());
  for (const auto& entry : original.entries()) {
    EXPECT_TENSOR_EQUAL(saved.get(entry.name), original.get(entry.name)) << entry.name;
  }
  const auto model = tiny();
  const LoadReport report = load_weights(*model, folder_.string());
  EXPECT_EQ(report.loaded, static_cast<int64_t>(original.entries().size()));
  EXPECT_TRUE(report.missing.empty() && report.unused.empty() && report.remapped.empty());
}

TEST_F(Weights, ABaseCheckpointHasNoPrefixAndTiesTheEmbedding) {
  const auto file = rewrite("base.safetensors", [](const std::string& name) { return name == kEmbedding ? "" : name; });
  const auto model = tiny();
  const LoadReport report = load_weights(*model, file);
  const auto params = by_name(*model);
  EXPECT_TENSOR_EQUAL(params.at(kEmbedding), params.at(kLmHead));
  params.at(kEmbedding).fill_(1.0);  // training one must not change the other
  EXPECT_FALSE(params.at(kLmHead).eq(1.0).all().item<bool>());
  EXPECT_THAT(report.remapped, ::testing::ElementsAre(::testing::Pair(kLmHead, kEmbedding)));
}

TEST_F(Weights, TheStoredEmbeddingWinsOverLmHead) {
  const GoldenPolicy golden = GoldenPolicy::open("pi05");
  const auto params = by_name(*golden.model);
  EXPECT_FALSE(at::equal(params.at(kEmbedding), params.at(kLmHead)));
}

TEST_F(Weights, TrainingDoesNotChangeTheFile) {
  const auto file = rewrite("model.safetensors", [](const std::string& name) { return "model." + name; });
  const auto model = tiny();
  load_weights(*model, file);
  by_name(*model).at(kLmHead).fill_(3.0);
  EXPECT_FALSE(SafetensorsFile::open(file).get(str_cat("model.", kLmHead)).eq(3.0).any().item<bool>());
}

TEST_F(Weights, OlderLayoutsAndRenamesAreMapped) {
  const auto file = rewrite("old.safetensors", [](std::string name) {
    const auto replace = [&name](const std::string& from, const std::string& to) {
      if (const size_t at = name.find(from); at != std::string::npos) {
        name.replace(at, from.size(), to);
      }
    };
    replace("paligemma.model.language_model.", "paligemma.language_model.model.");
    replace("paligemma.model.vision_tower.", "paligemma.vision_tower.");
    replace("paligemma.model.multi_modal_projector.", "paligemma.multi_modal_projector.");
    replace("time_mlp_", "action_time_mlp_");
    return name;
  });
  const auto model = tiny();
  EXPECT_EQ(load_weights(*model, file).missing.size(), 0U);
  const GoldenPolicy golden = GoldenPolicy::open("pi05");
  const auto want = by_name(*golden.model);
  for (const auto& [name, parameter] : by_name(*model)) {
    EXPECT_TENSOR_EQUAL(parameter, want.at(name)) << name;
  }
}

TEST_F(Weights, APartialFileIsRefusedUnlessAllowed) {
  const auto file = rewrite("model.safetensors", [](const std::string& name) {
    return name == "action_in_proj.bias" ? std::string() : name == "action_in_proj.weight" ? "stranger" : name;
  });
  const auto model = tiny();
  const Tensor before = by_name(*model).at("action_out_proj.bias").clone();
  EXPECT_THAT(error_text([&] { load_weights(*model, file); }),
              AllOf(HasSubstr("2 tensors of the policy are missing: action_in_proj.weight, action_in_proj.bias"),
                    HasSubstr("1 tensors have no place in the policy: stranger"), HasSubstr("allow_partial")));
  EXPECT_TENSOR_EQUAL(by_name(*model).at("action_out_proj.bias"), before);
  const LoadReport report = load_weights(*model, file, {.allow_partial = true});
  EXPECT_EQ(report.missing.size(), 2U);
  EXPECT_THAT(report.unused, ::testing::ElementsAre("stranger"));
}

TEST_F(Weights, MisshapenTensorsAreListedWithBothShapes) {
  const auto file = rewrite("model.safetensors", [](const std::string& name) { return name; });
  auto config = tiny()->config();
  config.max_action_dim = 12;
  const auto model = make_policy(config);
  EXPECT_THAT(error_text([&] { load_weights(*model, file, {.allow_partial = true}); }),
              AllOf(HasSubstr("3 tensors do not have the policy's shape"),
                    HasSubstr("action_in_proj.weight: expected [16, 12], found [16, 8]"),
                    HasSubstr("action_out_proj.bias: expected [12], found [8]")));
}

TEST_F(Weights, AFolderWithoutWeightsIsAnError) {
  EXPECT_THAT(error_text([&] { load_weights(*tiny(), folder_.string()); }), HasSubstr("no model.safetensors"));
}

TEST_F(Weights, APaligemmaFillsTheVlmOnly) {
  for (const bool modern : {false, true}) {
    const std::string vlm = "paligemma_with_expert.paligemma.";
    rewrite("model.safetensors", [&](std::string name) {
      if (!name.starts_with(vlm) || name == kLmHead) {
        return std::string();
      }
      name = name.substr(vlm.size());
      if (!modern) {
        const std::string tail = name.substr(6);  // behind "model."
        name = tail.starts_with("language_model.") ? "language_model.model." + tail.substr(15) : tail;
      }
      return name;
    });
    const auto model = tiny();
    const Tensor expert = by_name(*model).at("action_in_proj.weight").clone();
    load_vlm(*model, folder_.string());
    const GoldenPolicy golden = GoldenPolicy::open("pi05");
    for (const auto& [name, want] : by_name(*golden.model)) {
      if (name.starts_with(vlm)) {
        EXPECT_TENSOR_EQUAL(by_name(*model).at(name), by_name(*golden.model).at(name == kLmHead ? kEmbedding : name))
            << name;
      }
    }
    EXPECT_TENSOR_EQUAL(by_name(*model).at("action_in_proj.weight"), expert);
  }
}

TEST_F(Weights, APaligemmaThatLacksATensorIsRefused) {
  rewrite("model.safetensors", [](const std::string& name) {
    const std::string vlm = "paligemma_with_expert.paligemma.";
    const bool kept = name.starts_with(vlm) && name.find("post_layernorm") == std::string::npos;
    return kept ? name.substr(vlm.size()) : std::string();
  });
  EXPECT_THAT(error_text([&] { load_vlm(*tiny(), folder_.string()); }), HasSubstr("lacks 2 tensors"));
}

TEST(KeyMap, Pi0ReadsPi05sTimeProjectionsWithoutPrefixOnly) {
  EXPECT_EQ(map_policy_key("time_mlp_in.weight", /*is_pi05=*/false).name, "action_time_mlp_in.weight");
  EXPECT_EQ(map_policy_key("model.time_mlp_in.weight", /*is_pi05=*/false).name, "time_mlp_in.weight");
  EXPECT_EQ(map_policy_key("action_time_mlp_out.bias", /*is_pi05=*/true).name, "time_mlp_out.bias");
  EXPECT_TRUE(map_policy_key("state_proj.weight", /*is_pi05=*/true).skipped);
  EXPECT_TRUE(map_policy_key("paligemma_with_expert.gemma_expert.model.norm.weight", /*is_pi05=*/true).skipped);
  EXPECT_FALSE(map_policy_key("paligemma_with_expert.gemma_expert.model.norm.weight", /*is_pi05=*/false).skipped);
  EXPECT_TRUE(map_policy_key("normalize_inputs.buffer_observation_state.mean", /*is_pi05=*/false).skipped);
}

TEST(Init, DependsOnTheGeneratorAlone) {
  const auto first = tiny(), second = tiny();
  const auto a = by_name(*first), b = by_name(*second);
  for (const auto& [name, parameter] : a) {
    EXPECT_TENSOR_EQUAL(parameter, b.at(name)) << name;
    EXPECT_TRUE(parameter.isfinite().all().item<bool>()) << name;
  }
  const auto config = first->config();
  const auto third = make_policy(config);
  auto other = make_generator(2);
  init_weights(*third, other);
  EXPECT_FALSE(at::equal(by_name(*third).at(kEmbedding), a.at(kEmbedding)));
}

TEST(Init, AFreshPolicyLearns) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  auto generator = make_generator(3);
  init_weights(*golden.model, generator);
  set_trainable(*golden.model);
  const double first = golden.loss().loss.item<double>();
  for (int step = 0; step < 30; ++step) {
    golden.loss().loss.backward();
    nn::for_each_param(*golden.model, [](const std::string&, Tensor& p) {
      if (p.grad().defined()) {
        const at::NoGradGuard no_graph;
        p.sub_(p.grad() * 0.03);
        p.mutable_grad() = Tensor();
      }
    });
  }
  EXPECT_LT(golden.loss().loss.item<double>(), 0.8 * first);
}

}  // namespace
}  // namespace flexor::models
