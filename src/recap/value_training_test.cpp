// The value model's training mathematics against the reference: loss, clipping, two groups of AdamW, pictures.
#include <cmath>
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/augment.h"
#include "data/image_planes.h"
#include "media/resize.h"
#include "models/value_golden_fixture.h"
#include "optim/adamw.h"
#include "recap/categorical.h"
#include "recap/value_estimator.h"
#include "recap/value_metrics.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::recap {
namespace {

using models::TinyValue;

TEST(ValueTraining, FourStepsOfAdamWEndWhereTheReferenceDoes) {
  for (const bool savings : {false, true}) {
    const TinyValue tiny({.exact_savings = savings});
    const Json trace = models::tiny_value_json().at("adamw");
    optim::AdamW optimizer(
        nn::named_params(*tiny.model),
        {.lr = 5e-3, .betas = {0.9, 0.95}, .eps = 1e-8, .weight_decay = 1e-10, .grad_clip_norm = 1.0});
    for (optim::Slot& slot : optimizer.slots()) {
      slot.group = slot.name.starts_with("value_head.") ? 1 : 0;
    }
    for (const Json& step : trace.at("loss_and_gradnorm_by_step").as_array()) {
      const Tensor loss = categorical_losses(tiny.logits(), tiny.targets, {21, -1.0, 0.0}).mean();
      loss.backward();
      const double norm = optimizer.clip_grads();
      optimizer.step(std::vector<double>{5e-3, 1e-2});
      optimizer.zero_grad();
      const std::vector<double> want = step.as_numbers();
      EXPECT_NEAR(loss.item<double>(), want[0], 1e-4 * want[0]);
      EXPECT_NEAR(norm, want[1], 1e-4 * want[1]);
    }
    const SafetensorsFile expected = models::tiny_value_expected();
    EXPECT_TENSOR_NEAR(tiny.model->values(tiny.logits()), expected.get("after4.predicted_values"), 1e-4, 1e-4);
    EXPECT_TENSOR_NEAR(tiny.param("value_head.value_proj.bias").detach(), expected.get("after4.value_proj.bias"), 1e-4,
                       1e-4);
  }
}

// Judged in parts of 16: 10 times the golden's rows end within a part.
TEST(ValueEstimator, AFramesValueDoesNotDependOnHowManyAreJudged) {
  TinyValue tiny;
  const auto ten_times = [](const Tensor& rows) { return at::cat(std::vector<Tensor>(10, rows)); };
  for (models::ValueCamera& camera : tiny.batch.cameras) {
    camera.pixels = ten_times(camera.pixels);
    camera.mask = ten_times(camera.mask);
  }
  tiny.batch.tokens = ten_times(tiny.batch.tokens);
  tiny.batch.token_mask = ten_times(tiny.batch.token_mask);
  const int64_t size = tiny.batch.size();
  ASSERT_GT(size, 16);
  ASSERT_NE(size % 16, 0);
  ValueEstimator estimator(std::move(tiny.model), data::Tokenizer::open(testing::tests_path("golden/tokenizer")));
  const std::vector<float> values = estimator.values(tiny.batch);
  ASSERT_EQ(values.size(), static_cast<size_t>(size));
  const Tensor want = models::tiny_value_expected().get("predicted_values");
  EXPECT_TENSOR_NEAR(at::tensor(values), ten_times(want), 1e-5, 1e-5);
}

TEST(ValueTraining, MetricsOfTheTinyModelAreTheReferences) {
  const TinyValue tiny;
  const Tensor logits = tiny.logits().detach();
  ValueMetrics metrics;
  metrics.add({.logits = logits,
               .targets = tiny.targets,
               .values = tiny.model->values(logits),
               .losses = categorical_losses(logits, tiny.targets, {21, -1.0, 0.0})});
  const Tensor want = models::tiny_value_expected().get("metrics_accbest_accneighbor_mae");
  const auto got = metrics.metrics();
  EXPECT_NEAR(got.at("cat_acc_best"), want[0].item<double>(), 1e-5);
  EXPECT_NEAR(got.at("cat_acc_neighbor"), want[1].item<double>(), 1e-5);
  EXPECT_NEAR(got.at("mae"), want[2].item<double>(), 1e-5);
}

/// Picture number b of a golden's [B, H, W, 3].
media::Picture picture_of(const Json& input, int64_t b) {
  const std::vector<double> shape = input.at("shape").as_numbers();
  media::Picture picture;
  picture.resize(static_cast<int>(shape[2]), static_cast<int>(shape[1]));
  const Json::Array& data = input.at("data").as_array();
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb[i] = static_cast<uint8_t>(data[static_cast<size_t>(b) * picture.rgb.size() + i].as_int());
  }
  return picture;
}

std::vector<uint8_t> fitted(const media::Picture& picture, int height, int width) {
  std::vector<uint8_t> out(static_cast<size_t>(3 * height * width));
  media::ResizeWithPad(picture.width, picture.height, width, height).to_uint8(picture, out);
  return out;
}

TEST(ValueTraining, ResizedPicturesAreTheReferencesToOneLevel) {
  int compared = 0;
  for (const Json& c : Json::read_file(testing::tests_path("golden/recap_value/images.json")).as_array()) {
    if (c.at("op").as_string() != "resize_with_pad" || c.at("input").at("dtype").as_string() != "torch.uint8") {
      continue;
    }
    ++compared;
    const std::vector<double> size = c.at("target").as_numbers();
    const int height = static_cast<int>(size[0]), width = static_cast<int>(size[1]);
    const std::vector<uint8_t> got = fitted(picture_of(c.at("input"), 0), height, width);
    const Json::Array& want = c.at("output").at("data").as_array();
    for (int i = 0; i < height * width; ++i) {
      for (int channel = 0; channel < 3; ++channel) {
        EXPECT_NEAR(got[static_cast<size_t>(channel * height * width + i)],
                    want[static_cast<size_t>(3 * i + channel)].as_int(), 1);
      }
    }
  }
  EXPECT_GE(compared, 2);
}

/// Values -1..1 of the golden as 0..1, which the program works on: bilinear weights and the padding commute with that.
std::vector<float> unit_planes(const Json& json, size_t height, size_t width) {
  const std::vector<double> values = json.at("data").as_numbers();  // [1, H, W, 3]
  std::vector<float> planes(values.size());
  for (size_t i = 0; i < height * width; ++i) {
    for (size_t channel = 0; channel < 3; ++channel) {
      planes[channel * height * width + i] = static_cast<float>((values[3 * i + channel] + 1.0) / 2.0);
    }
  }
  return planes;
}

TEST(ValueTraining, ResizedFloatPicturesAreTheReferences) {
  int compared = 0;
  for (const Json& c : Json::read_file(testing::tests_path("golden/recap_value/images.json")).as_array()) {
    if (c.at("op").as_string() != "resize_with_pad" || c.at("input").at("dtype").as_string() != "torch.float32") {
      continue;
    }
    ++compared;
    const std::vector<double> from = c.at("input").at("shape").as_numbers(), to = c.at("target").as_numbers();
    const auto size = [](double value) { return static_cast<size_t>(value); };
    const std::vector<float> source = unit_planes(c.at("input"), size(from[1]), size(from[2]));
    const std::vector<float> want = unit_planes(c.at("output"), size(to[0]), size(to[1]));
    std::vector<float> got(want.size());
    media::ResizeWithPad(static_cast<int>(from[2]), static_cast<int>(from[1]), static_cast<int>(to[1]),
                         static_cast<int>(to[0]))
        .to_float(source, got);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(2 * got[i], 2 * want[i], 2e-5) << i;
    }
  }
  EXPECT_EQ(compared, 2);
}

/// The next number of a golden's log of draws.
class Draws {
 public:
  explicit Draws(const Json& log) : log_(log.as_array()) {}
  double next() { return log_[at_++].as_array()[1].as_numbers()[0]; }
  float scaled(double low, double high) { return static_cast<float>(low + (high - low) * next()); }

 private:
  const Json::Array& log_;
  size_t at_ = 0;
};

data::OpenpiDraws next_draws(Draws& draws, bool is_wrist) {
  data::OpenpiDraws d;
  if (!is_wrist) {
    d.top = static_cast<int>(draws.next());
    d.left = static_cast<int>(draws.next());
    d.angle_deg = draws.next() * 10.0 - 5.0;
  }
  d.brightness = draws.scaled(0.7, 1.3);
  d.contrast = draws.scaled(0.6, 1.4);
  d.saturation = draws.scaled(0.5, 1.5);
  return d;
}

TEST(ValueTraining, PreparedPicturesAreTheReferencesWithAndWithoutAugmentation) {
  int compared = 0;
  for (const Json& c : Json::read_file(testing::tests_path("golden/recap_value/images.json")).as_array()) {
    if (c.at("op").as_string() != "process_images") {
      continue;
    }
    const bool is_signed = c.at("flavour").as_string() == "recap_signed", train = c.at("train").as_bool();
    Draws draws(c.at("random_log"));
    for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb"}) {
      const bool is_wrist = std::string_view(camera).find("wrist") != std::string_view::npos;
      const data::OpenpiDraws drawn = train ? next_draws(draws, is_wrist) : data::OpenpiDraws{};
      const Json &input = c.at("input").at(camera), &output = c.at("output").at(camera);
      const std::vector<double> shape = output.at("shape").as_numbers();  // [B, 3, H, W]
      const int height = static_cast<int>(shape[2]), width = static_cast<int>(shape[3]);
      const std::vector<double> want = output.at("data").as_numbers();
      for (int64_t b = 0; b < static_cast<int64_t>(shape[0]); ++b) {
        data::ImagePlanes planes{.width = width, .height = height, .levels = false, .values = {}};
        for (const uint8_t level : fitted(picture_of(input, b), height, width)) {
          planes.values.push_back(static_cast<float>(level) / 255.0F);
        }
        if (train) {
          data::apply_openpi(planes, is_wrist, drawn);
        }
        double worst = 0;
        const size_t n = planes.values.size();
        for (size_t i = 0; i < n; ++i) {
          const double got = is_signed ? planes.values[i] * 2.0 - 1.0 : planes.values[i];
          worst = std::max(worst, std::abs(got - want[static_cast<size_t>(b) * n + i]));
        }
        EXPECT_LE(worst, 2e-5) << c.at("flavour").as_string() << " " << camera << " train " << train;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 16);
}

}  // namespace
}  // namespace flexor::recap
