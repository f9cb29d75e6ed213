#include "models/lora.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/golden_fixture.h"
#include "nn/named_params.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

bool is_adapter(const std::string& name) {
  return name.find(".lora_") != std::string::npos;
}

TEST(Lora, LeRobotsStyleAdaptsTheExpertAndStartsAsTheIdentity) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  const Tensor before = golden.loss().loss;
  auto generator = make_generator(1);
  const auto names = add_lora(*golden.model, {.r = {}, .alpha = {}, .targets = {}}, generator);
  EXPECT_EQ(names.size(), 2U * 2 + 2);  // q and v of two layers, action_in_proj, action_out_proj
  EXPECT_TENSOR_NEAR(golden.loss().loss, before, 1e-6, 1e-7);
  nn::for_each_param(*golden.model, [](const std::string& name, Tensor& parameter) {
    EXPECT_EQ(parameter.requires_grad(), is_adapter(name)) << name;
  });
}

TEST(Lora, OpenpisStyleAdaptsBothStacksAndTrainsTheRest) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  auto generator = make_generator(1);
  const auto names = add_lora(*golden.model, {.style = "openpi", .r = {}, .alpha = {}, .targets = {}}, generator);
  EXPECT_EQ(names.size(), 2U * 2 * 7);
  nn::for_each_param(*golden.model, [](const std::string& name, Tensor& parameter) {
    const bool body =
        name.find("language_model") != std::string::npos || name.find("gemma_expert") != std::string::npos;
    const bool head = name.ends_with("lm_head.weight");
    EXPECT_EQ(parameter.requires_grad(), is_adapter(name) || (!body && !head)) << name;
    if (name.ends_with("lora_A.weight")) {
      EXPECT_EQ(parameter.size(0), name.find("gemma_expert") != std::string::npos ? 32 : 16);
    }
  });
}

TEST(Lora, GradientsReachTheAdapters) {
  for (const bool checkpointing : {false, true}) {
    GoldenPolicy golden = GoldenPolicy::open("pi05", "float32", {.gradient_checkpointing = checkpointing});
    auto generator = make_generator(1);
    add_lora(*golden.model, {.style = "openpi", .r = 4, .alpha = {}, .targets = {"q_proj", "mlp.up_proj"}}, generator);
    golden.loss().loss.backward();
    nn::for_each_param(*golden.model, [](const std::string& name, Tensor& parameter) {
      // Of the last VLM layer nothing is read but keys and values: queries have a zero gradient, the MLP none.
      const bool unread = name.find("language_model.layers.1.mlp") != std::string::npos;
      if (is_adapter(name)) {
        EXPECT_EQ(parameter.grad().defined(), !unread) << name;
      }
    });
  }
}

TEST(Lora, MergingKeepsTheFunctionAndSavedFilesNeedNoAdapters) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  auto generator = make_generator(1);
  add_lora(*golden.model, {.style = "openpi", .r = 4, .alpha = 8.0, .targets = {}}, generator);
  nn::for_each_param(*golden.model, [&](const std::string& name, Tensor& parameter) {
    if (is_adapter(name)) {
      const at::NoGradGuard no_graph;
      parameter.normal_(0.0, 0.1, generator);
    }
  });
  const Tensor adapted = golden.loss().loss.detach();
  EXPECT_GT((adapted - golden.want("loss")).abs().item<double>(), 1e-3);

  const auto file = std::filesystem::path(::testing::TempDir()) / str_cat("lora_", getpid(), ".safetensors");
  save_weights(*golden.model, file.string());
  const auto plain = make_policy(golden.model->config());
  load_weights(*plain, file.string());
  std::filesystem::remove(file);
  EXPECT_TENSOR_NEAR(plain->loss(golden.inputs.batch, golden.inputs.at("noise"), golden.inputs.at("time")).loss,
                     adapted, 1e-5, 1e-6);
  EXPECT_EQ(nn::count_params(*plain), golden.meta.at("param_count").as_int());
}

TEST(Lora, WrongOptionsAreErrors) {
  GoldenPolicy golden = GoldenPolicy::open("pi05");
  auto generator = make_generator(1);
  EXPECT_THROW(add_lora(*golden.model, {.style = "dora", .r = {}, .alpha = {}, .targets = {}}, generator), Error);
  EXPECT_THROW(add_lora(*golden.model, {.r = 0, .alpha = {}, .targets = {}}, generator), Error);
  EXPECT_THROW(add_lora(*golden.model, {.r = {}, .alpha = {}, .targets = {"proj_q"}}, generator), Error);
}

}  // namespace
}  // namespace flexor::models
