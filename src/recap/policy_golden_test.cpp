// Advantage-conditioned training against the reference: prompts, normalisation, loss and gradients of a tiny pi0.5.
#include <gtest/gtest.h>

#include "data/normalize.h"
#include "data/prompt.h"
#include "models/cfg_golden_fixture.h"
#include "models/trainable.h"
#include "nn/named_params.h"
#include "recap/guidance_routing.h"
#include "recap/policy_loss.h"
#include "recap/recap_fixture.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

using data::AdvantageLabel;

constexpr AdvantageLabel kLabels[] = {AdvantageLabel::kNone, AdvantageLabel::kPositive, AdvantageLabel::kNegative};

/// The text that reaches SentencePiece for a label; the reference encodes a newline on its own.
std::string reference_text(const Json& calls, size_t label, bool has_state) {
  const auto text = [&](size_t call) { return calls.as_array()[call].as_array()[0].as_string(); };
  return has_state ? text(label) : text(2 * label) + text(2 * label + 1);
}

TEST(GuidedPrompts, AreTheReferences) {
  for (const Json& c : golden_json("cfg_prompts.json").as_array()) {
    const bool has_state = c.at("discrete_state_input").as_bool();
    std::vector<int64_t> bins;
    if (has_state) {
      const Tensor found = data::state_bins(at::tensor(c.at("state").as_numbers(), at::kDouble));
      bins = {found.const_data_ptr<int64_t>(), found.const_data_ptr<int64_t>() + found.numel()};
    }
    const auto style = has_state ? data::PromptStyle::kState : data::PromptStyle::kOpenpi;
    for (size_t i = 0; i < std::size(kLabels); ++i) {
      const std::string task = data::with_advantage(style, c.at("prompt").as_string(), kLabels[i]);
      EXPECT_EQ(data::make_prompt(style, task, bins), reference_text(c.at("sentencepiece_calls"), i, has_state));
    }
  }
}

Tensor table(const Json& rows) {
  std::vector<Tensor> lines;
  for (const Json& row : rows.as_array()) {
    lines.push_back(at::tensor(row.as_numbers(), at::kDouble));
  }
  return at::stack(lines);
}

TEST(GuidedNormalisation, IsTheReferencesBothWaysWithPadding) {
  for (const Json& c : golden_json("norm_transforms.json").as_array()) {
    schema::FeatureStats stats;
    for (const char* name : {"mean", "std", "q01", "q99"}) {
      stats.values[name] = c.at(name).as_numbers();
    }
    stats.shape = {static_cast<int64_t>(stats.at("mean").size())};
    const auto mode = c.at("use_quantiles").as_bool() ? schema::NormMode::kQuantiles : schema::NormMode::kMeanStd;
    const data::FeatureNormalizer normalizer({"action", schema::FeatureType::kAction, stats.shape}, mode, &stats, 1e-8,
                                             data::NormFormula::kOpenpi);
    EXPECT_TENSOR_NEAR(normalizer.normalize(table(c.at("x"))), table(c.at("normalized")), 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(normalizer.unnormalize(table(c.at("padded"))), table(c.at("unnormalized")), 1e-12, 1e-12);
  }
}

class TinyGuidedPolicy : public ::testing::Test {
 protected:
  void SetUp() override {
    models::set_trainable(*golden_.model);
    rule_ = {golden_.meta.at("unconditional_prob").as_double(),
             golden_.meta.at("train_positive_only_conditional").as_bool()};
  }

  /// The batch with the prompts of these labels.
  schema::Batch batch(const std::vector<AdvantageLabel>& labels) const {
    schema::Batch batch = golden_.batch();
    batch.action = golden_.inputs.get("actions");
    std::vector<Tensor> tokens, masks;
    for (size_t i = 0; i < labels.size(); ++i) {
      const char* kind = labels[i] == AdvantageLabel::kNone       ? "tokenized_prompt"
                         : labels[i] == AdvantageLabel::kPositive ? "tokenized_positive_guidance_prompt"
                                                                  : "tokenized_negative_guidance_prompt";
      const schema::Batch asked = golden_.batch(kind);
      tokens.push_back(asked.tokens[static_cast<int64_t>(i)]);
      masks.push_back(asked.token_mask[static_cast<int64_t>(i)]);
    }
    batch.tokens = at::stack(tokens);
    batch.token_mask = at::stack(masks);
    return batch;
  }
  PolicyLoss loss(const std::vector<AdvantageLabel>& labels) {
    return policy_loss(*golden_.model, batch(labels), golden_.inputs.get("noise"), golden_.inputs.get("time"));
  }

  models::CfgGolden golden_ = models::CfgGolden::open();
  RoutingRule rule_;
};

TEST_F(TinyGuidedPolicy, UnconditionalLossesAreTheReferences) {
  const PolicyLoss plain = loss(std::vector<AdvantageLabel>(4, AdvantageLabel::kNone));
  EXPECT_TENSOR_NEAR(at::tensor(plain.per_sample, at::kDouble), golden_.expected.get("uncond.per_sample_loss"), 1e-5,
                     1e-5);
}

TEST_F(TinyGuidedPolicy, RoutedLossMetricsAndGradientsAreTheReferences) {
  const Tensor advantage = golden_.inputs.get("advantage"), u = golden_.inputs.get("routing_random_values");
  std::vector<uint8_t> labels;
  std::vector<AdvantageLabel> routes;
  for (int64_t i = 0; i < 4; ++i) {
    labels.push_back(advantage[i].item<uint8_t>());
    routes.push_back(route(labels.back() != 0, u[i].item<float>(), rule_));
  }
  const PolicyLoss routed = loss(routes);
  EXPECT_TENSOR_NEAR(routed.loss.detach().view({1}), golden_.expected.get("train.loss"), 1e-5, 1e-5);
  RoutingMetrics metrics;
  metrics.add(labels, routes, routed.per_sample);
  const Json want = golden_.meta.at("train_metrics");
  for (const char* name : {"positive_conditional", "positive_unconditional", "negative_unconditional"}) {
    const double count = want.at(std::string(name) + "_count").as_double();
    EXPECT_NEAR(metrics.metrics().at(std::string(name) + "_loss"),
                want.at(std::string(name) + "_loss_sum").as_double() / count, 1e-5);
    EXPECT_DOUBLE_EQ(metrics.metrics().at(std::string(name) + "_ratio"), count / 4);
  }
  routed.loss.backward();
  int compared = 0;
  nn::for_each_param(*golden_.model, [&](const std::string& name, Tensor& p) {
    if (golden_.expected.contains("grad." + name)) {
      const Tensor grad = golden_.expected.get("grad." + name);
      EXPECT_TENSOR_NEAR(p.grad(), grad, 1e-4, 1e-4 * grad.abs().max().item<double>());
      ++compared;
    }
  });
  EXPECT_EQ(compared, 5);
}

TEST_F(TinyGuidedPolicy, WeightsOfAStateDictAreThoseOfSafetensors) {
  const auto other = models::make_policy(golden_.model->config());
  const models::LoadReport report = models::load_weights(*other, testing::tests_path("data/torch/rlinf_policy"));
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.unused.empty());
  std::map<std::string, Tensor> by_name;
  nn::for_each_param(*golden_.model, [&](const std::string& name, Tensor& p) { by_name[name] = p.detach(); });
  nn::for_each_param(*other, [&](const std::string& name, Tensor& p) {
    if (name.ends_with("lm_head.weight")) {
      EXPECT_EQ(p.abs().max().item<float>(), 0.0F) << "not in the file, and nothing reads them";
    } else {
      EXPECT_TENSOR_EQUAL(p, by_name.at(name));
    }
  });
}

}  // namespace
}  // namespace flexor::recap
