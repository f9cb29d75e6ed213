#include "recap/guidance_routing.h"

#include <gtest/gtest.h>

#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

using data::AdvantageLabel;

TEST(Routing, MasksAreTheReferences) {
  for (const Json& c : golden_json("cfg_routing.json").as_array()) {
    const RoutingRule rule{c.at("unconditional_prob").as_double(), c.at("positive_only_conditional").as_bool()};
    const std::vector<uint8_t> advantage = truths(c.at("advantage"));
    const std::vector<float> u = floats(c.at("random_values"));
    const auto mask = [&](const char* name, size_t i) { return c.at("masks").at(name).as_array()[i].as_bool(); };
    for (size_t i = 0; i < advantage.size(); ++i) {
      const AdvantageLabel got = route(advantage[i] != 0, u[i], rule);
      EXPECT_EQ(got != AdvantageLabel::kNone, mask("conditional_mask", i));
      EXPECT_EQ(got == AdvantageLabel::kPositive, mask("positive_conditional_mask", i));
      EXPECT_EQ(got == AdvantageLabel::kNegative, mask("negative_conditional_mask", i));
      EXPECT_EQ(advantage[i] != 0 && got == AdvantageLabel::kNone, mask("positive_unconditional_mask", i));
      EXPECT_EQ(advantage[i] == 0 && got == AdvantageLabel::kNone, mask("negative_unconditional_mask", i));
    }
  }
}

TEST(Routing, DrawsDependOnSeedStepAndPlaceAlone) {
  const std::vector<float> a = draw_routing(1, 7, 0, 5);
  EXPECT_EQ(a, draw_routing(1, 7, 0, 5));
  EXPECT_NE(a, draw_routing(1, 8, 0, 5));
  EXPECT_NE(a, draw_routing(2, 7, 0, 5));
  EXPECT_EQ(std::vector<float>(a.begin() + 2, a.end()), draw_routing(1, 7, 2, 3));
  int64_t above = 0;
  for (const float u : draw_routing(0, 0, 0, 4000)) {
    ASSERT_TRUE(u >= 0.0F && u < 1.0F);
    above += u > 0.1F ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(above) / 4000, 0.9, 0.02);
}

/// Feeds counts and sums of one label and route as samples of equal loss.
void feed(RoutingMetrics& metrics, const Json& micro, const std::string& label, const std::string& kind) {
  const int64_t count = micro.at(label + "_" + kind + "_count").as_int();
  const double sum = micro.at(label + "_" + kind + "_loss_sum").as_double();
  const uint8_t is_positive = label == "positive" ? 1 : 0;
  const AdvantageLabel conditional = is_positive != 0 ? AdvantageLabel::kPositive : AdvantageLabel::kNegative;
  const AdvantageLabel asked = kind == "conditional" ? conditional : AdvantageLabel::kNone;
  for (int64_t i = 0; i < count; ++i) {
    const double loss = sum / static_cast<double>(count);
    metrics.add({&is_positive, 1}, {&asked, 1}, {&loss, 1});
  }
}

TEST(RoutingMetrics, OfAStepAreTheReferences) {
  const Json golden = golden_json("cfg_step_metrics.json");
  RoutingMetrics metrics;
  for (const Json& micro : golden.at("micro_batches").as_array()) {
    for (const char* label : {"positive", "negative"}) {
      for (const char* kind : {"conditional", "unconditional"}) {
        feed(metrics, micro.at("metrics"), label, kind);
      }
    }
  }
  const std::map<std::string, double> got = metrics.metrics();
  size_t compared = 0;
  for (const auto& [name, want] : golden.at("step_metrics").as_object()) {
    if (name != "loss" && name != "grad_norm" && name != "learning_rate") {  // the loop's
      ASSERT_TRUE(got.contains(name)) << name;
      EXPECT_NEAR(got.at(name), want.as_double(), 1e-6) << name;
      ++compared;
    }
  }
  EXPECT_EQ(got.size(), compared) << "a loss of nothing is left out";
  metrics.clear();
  EXPECT_TRUE(metrics.metrics().empty());
}

}  // namespace
}  // namespace flexor::recap
