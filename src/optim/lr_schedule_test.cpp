#include "optim/lr_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "testing/golden.h"

namespace flexor::optim {
namespace {

Json golden_lr(const char* key) {
  return Json::read_file(testing::tests_path("golden/preprocess/preprocess.json")).at(key);
}

TEST(LrSchedule, IsLeRobotsForEveryLengthOfRun) {
  int64_t compared = 0;
  const Json golden = golden_lr("lr");
  for (const Json& entry : golden.as_array()) {
    const ScheduleConfig config{.warmup_steps = entry.at("warmup").as_int(),
                                .decay_steps = entry.at("decay").as_int(),
                                .decay_lr = entry.at("decay_lr").as_double()};
    const LrSchedule schedule(config, entry.at("peak_lr").as_double(), entry.at("num_training_steps").as_int());
    for (const auto& [step, lr] : entry.at("lr").as_object()) {
      EXPECT_NEAR(schedule.lr(std::stoll(step)), lr.as_double(), 1e-13 * config.decay_lr + 1e-12 * lr.as_double())
          << "step " << step << " of " << entry.at("num_training_steps").as_int();
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(LrSchedule, OfOpenpiDecaysFromTheEndOfTheWarmup) {
  const LrSchedule schedule({.type = "openpi"}, 2.5e-5, 30000);
  const Json golden = golden_lr("openpi_lr");
  for (const auto& [step, lr] : golden.as_object()) {
    EXPECT_NEAR(schedule.lr(std::stoll(step)), lr.as_double(), 1e-12 * lr.as_double()) << "step " << step;
  }
}

TEST(LrSchedule, ConstantStaysAtThePeakAfterTheWarmup) {
  const LrSchedule schedule({.type = "constant", .warmup_steps = 4}, 1e-3, 10);
  EXPECT_LT(schedule.lr(3), 1e-3);
  EXPECT_EQ(schedule.lr(4), 1e-3);
  EXPECT_EQ(schedule.lr(1000), 1e-3);
}

TEST(LrSchedule, APeakOfZeroStaysZero) {
  for (const char* type : {"cosine_decay_with_warmup", "constant"}) {
    const LrSchedule schedule({.type = type, .warmup_steps = 2, .decay_steps = 10}, 0.0, 10);
    for (int64_t step = 0; step < 12; ++step) {
      EXPECT_EQ(schedule.lr(step), 0.0) << type << ", step " << step;
    }
  }
}

TEST(LrSchedule, RefusesAnUnknownType) {
  EXPECT_THROW(LrSchedule({.type = "linear"}, 1e-3, 10), Error);
}

}  // namespace
}  // namespace flexor::optim
