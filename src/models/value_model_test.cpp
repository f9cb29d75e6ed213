#include "models/value_model.h"

#include <ATen/ops/full_like.h>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "base/error.h"
#include "models/value_golden_fixture.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "tensor/rng.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::models {
namespace {

constexpr double kForward = 1e-5, kGradients = 1e-4;

/// Cross-entropy against weights that stand beside the logits in no file: two bins a target.
Tensor loss_of(const Tensor& logits, const Tensor& targets) {
  const auto last = static_cast<double>(logits.size(1) - 1);
  const Tensor place = (targets.clamp(-1.0, 0.0) + 1.0) * last;
  const Tensor bins = at::arange(logits.size(1), logits.options());
  const Tensor weights = (1.0 - (bins.unsqueeze(0) - place.unsqueeze(1)).abs()).clamp_min(0.0);
  return -(weights * at::softmax(logits, -1).log()).sum(-1).mean();
}

class ValueGolden : public ::testing::TestWithParam<std::pair<bool, bool>> {
 protected:
  static ValueOptions options() { return {.exact_savings = GetParam().first, .fused = GetParam().second}; }
};

TEST_P(ValueGolden, LogitsValuesAndLossAreTheReferences) {
  const TinyValue tiny(options());
  const Tensor logits = tiny.logits();
  EXPECT_TENSOR_NEAR(logits, tiny_value_expected().get("logits"), kForward, kForward);
  EXPECT_TENSOR_NEAR(at::softmax(logits, -1), tiny_value_expected().get("probs"), kForward, kForward);
  EXPECT_TENSOR_NEAR(tiny.model->values(logits), tiny_value_expected().get("predicted_values"), kForward, kForward);
  EXPECT_TENSOR_NEAR(loss_of(logits, tiny.targets).reshape({1}), tiny_value_expected().get("loss"), kForward, kForward);
}

TEST_P(ValueGolden, GradientsAreTheReferences) {
  const TinyValue tiny(options());
  loss_of(tiny.logits(), tiny.targets).backward();
  int compared = 0;
  const SafetensorsFile expected = tiny_value_expected();
  for (const auto& entry : expected.entries()) {
    if (entry.name.starts_with("grad.")) {
      const Tensor grad = tiny.param(entry.name.substr(5)).grad(), want = expected.get(entry.name);
      if (!grad.defined()) {  // the reference gives what nobody reads a gradient of zeros
        EXPECT_EQ(want.abs().max().item<double>(), 0.0) << entry.name;
        continue;
      }
      EXPECT_TENSOR_NEAR(grad, want, kGradients, kGradients * want.abs().max().item<double>()) << entry.name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 13);
}

INSTANTIATE_TEST_SUITE_P(Ways, ValueGolden,
                         ::testing::Values(std::pair(false, false), std::pair(false, true), std::pair(true, false),
                                           std::pair(true, true)));

TEST(ValueModel, PrefixAndKeysAreTheReferencesWhereTokensAreReal) {
  const TinyValue tiny({.exact_savings = false, .fused = false});
  std::map<std::string, Tensor> taps;
  const TapRecorder recorder(
      [&](std::string_view name, const Tensor& tensor) { taps.insert_or_assign(std::string(name), tensor.detach()); });
  tiny.logits();
  const Tensor pad = tiny_value_expected().get("prefix_pad_masks").to(at::kBool);
  EXPECT_TENSOR_EQUAL(taps.at("prefix_pad_masks"), pad);
  EXPECT_TENSOR_EQUAL(taps.at("prefix_position_ids"), tiny_value_expected().get("prefix_position_ids"));
  EXPECT_TENSOR_NEAR(taps.at("prefix_embs"), tiny_value_expected().get("prefix_embs"), kForward, kForward);
  EXPECT_TENSOR_NEAR(taps.at("cls_hidden"), tiny_value_expected().get("cls_hidden"), kForward, kForward);
  const Tensor real = pad.unsqueeze(1).unsqueeze(-1);  // [B, 1, P, 1]
  for (const char* name : {"kv.0.key", "kv.0.value", "kv.1.key", "kv.1.value", "kv.2.key", "kv.2.value"}) {
    EXPECT_TENSOR_NEAR(taps.at(name) * real, tiny_value_expected().get(name) * real, kForward, kForward) << name;
  }
}

TEST(ValueModel, ScaledClsEmbeddingIsThatOfUnpatchedTransformers) {
  ValueConfig config = tiny_value_config();
  config.scale_cls_embedding = true;
  const TinyValue tiny({}, config);
  const SafetensorsFile stock = testing::golden("recap_value/value_model_tiny/expected_stock_transformers.safetensors");
  EXPECT_TENSOR_NEAR(tiny.logits(), stock.get("stock.logits"), kForward, kForward);
}

TEST(ValueModel, WhatIsMaskedDoesNotMatter) {
  TinyValue tiny;
  const Tensor before = tiny.logits();
  for (ValueCamera& camera : tiny.batch.cameras) {
    const Tensor hidden = camera.mask.logical_not().view({-1, 1, 1, 1});
    camera.pixels = at::where(hidden, at::full_like(camera.pixels, 0.25), camera.pixels);
  }
  tiny.batch.tokens = at::where(tiny.batch.token_mask, tiny.batch.tokens, at::full_like(tiny.batch.tokens, 11));
  EXPECT_TENSOR_NEAR(tiny.logits(), before, 1e-6, 1e-6);
}

TEST(ValueModel, UnreadParametersAreNotTrained) {
  const TinyValue tiny;
  const Json config = tiny_value_json();
  for (const char* set : {"params_without_grad", "params_with_zero_grad"}) {
    for (const std::string& name : config.at(set).as_strings()) {
      if (!name.ends_with("lm_head.weight")) {
        EXPECT_FALSE(tiny.param(name).requires_grad()) << name;
      }
    }
  }
  loss_of(tiny.logits(), tiny.targets).backward();
  for (const auto& [name, tensor] : nn::named_params(*tiny.model)) {
    EXPECT_EQ(tensor.requires_grad(), tensor.grad().defined()) << name;
  }
}

TEST(ValueModel, FreezingTakesWhatItSays) {
  const auto trained = [](const ValueOptions& options, bool vision, bool vlm) {
    TinyValue tiny(options);
    set_trainable(*tiny.model, vision, vlm);
    loss_of(tiny.logits(), tiny.targets).backward();
    std::map<std::string, bool> parts;
    for (const auto& [name, tensor] : nn::named_params(*tiny.model)) {
      for (const char* part : {"vision_tower", "multi_modal_proj", "gemma3", "experts", "value_head"}) {
        if (name.find(part) != std::string::npos) {
          parts[part] = parts[part] || tensor.grad().defined();
        }
      }
    }
    return parts;
  };
  using Parts = std::map<std::string, bool>;
  const auto parts = [](bool vision, bool projection, bool gemma3) {
    return Parts{{"vision_tower", vision},
                 {"multi_modal_proj", projection},
                 {"gemma3", gemma3},
                 {"experts", true},
                 {"value_head", true}};
  };
  EXPECT_EQ(trained({}, true, false), parts(false, true, true));
  EXPECT_EQ(trained({}, false, true), parts(true, true, false));
  EXPECT_EQ(trained({.stop_gradient_to_vlm = true}, false, false), parts(false, false, false));
}

TEST(ValueModel, CheckpointingGivesTheSameGradients) {
  const TinyValue plain, again({.gradient_checkpointing = true});
  loss_of(plain.logits(), plain.targets).backward();
  loss_of(again.logits(), again.targets).backward();
  for (const auto& [name, tensor] : nn::named_params(*plain.model)) {
    if (tensor.grad().defined()) {
      EXPECT_TENSOR_NEAR(again.param(name).grad(), tensor.grad(), 1e-5, 1e-7) << name;
    }
  }
}

TEST(ValueModel, Bfloat16ComputeStaysNear) {
  const TinyValue tiny({.autocast = true});
  const Tensor logits = tiny.logits();
  EXPECT_EQ(logits.scalar_type(), at::kFloat);
  EXPECT_TENSOR_NEAR(tiny.model->values(logits), tiny_value_expected().get("predicted_values"), 0.0, 3e-2);
  loss_of(logits, tiny.targets).backward();
  EXPECT_EQ(tiny.param("value_expert.multi_modal_proj.weight").grad().scalar_type(), at::kFloat);
}

TEST(ValueModel, FreshModelsAreUncertain) {
  ValueModel model(tiny_value_config());
  at::Generator generator = make_generator(3);
  init_value_weights(model, generator);
  const TinyValue tiny;
  const Tensor logits = model.logits(tiny.batch);
  EXPECT_NEAR(loss_of(logits, tiny.targets).item<double>(), std::log(21.0), 1.5);
  EXPECT_TENSOR_EQUAL(model.net().expert.norm.weight, at::ones({12}));
}

TEST(ValueModel, DropoutIsDrawnFromTheGenerator) {
  ValueConfig config = tiny_value_config();
  config.value_dropout = 0.5;
  const TinyValue tiny({}, config);
  at::Generator a = make_generator(1), b = make_generator(1);
  const Tensor first = tiny.model->logits(tiny.batch, &a), second = tiny.model->logits(tiny.batch, &b);
  EXPECT_TENSOR_EQUAL(first, second);
  EXPECT_FALSE(at::equal(first, tiny.logits()));
}

TEST(ValueModel, BadBatchesAndSizesAreRefused) {
  TinyValue tiny;
  tiny.batch.tokens = tiny.batch.tokens.clone();
  tiny.batch.tokens[0][0] = 48;
  EXPECT_THROW(tiny.logits(), Error);
  tiny.batch.tokens[0][0] = 2;
  tiny.batch.cameras[0].pixels = at::zeros({3, 3, 8, 8});
  EXPECT_THROW(tiny.logits(), Error);
  ValueConfig config = tiny_value_config();
  config.architecture.expert.head_dim = 8;
  EXPECT_THROW(ValueModel{config}, Error);
  EXPECT_THROW(critic_expert_variant("gemma_7b"), Error);
}

}  // namespace
}  // namespace flexor::models
