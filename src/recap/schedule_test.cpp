#include "recap/schedule.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/json.h"
#include "testing/golden.h"

namespace flexor::recap {
namespace {

OptimSection section(const std::string& scheduler, const std::string& compat) {
  OptimSection config;
  config.lr = 1e-5;
  config.lr_scheduler = scheduler;
  config.lr_warmup_steps = 4;
  config.total_training_steps = 20;
  config.min_lr = 1e-6;
  config.compat = compat;
  return config;
}

TEST(RecapSchedule, ReferenceRatesOfEveryStep) {
  const Json cases = Json::read_file(testing::tests_path("golden/recap_value/lr_schedules.json"));
  for (const Json& c : cases.as_array()) {
    OptimSection config;
    config.compat = "reference";
    config.lr_scheduler = c.at("lr_scheduler").as_string();
    config.lr_warmup_steps = c.at("lr_warmup_steps").as_int();
    config.total_training_steps = c.at("total_training_steps").as_int();
    config.min_lr = c.at("min_lr").as_double();
    if (!c.at("min_lr_rate").is_null()) {
      config.min_lr_rate = c.at("min_lr_rate").as_double();
    }
    const RecapSchedule schedule(config, c.at("base_lrs").as_numbers());
    int64_t step = 0;
    for (const Json& row : c.at("lr_by_step").as_array()) {
      const std::vector<double> want = row.as_numbers(), got = schedule.rates(step++);
      ASSERT_EQ(got.size(), want.size());
      for (size_t g = 0; g < want.size(); ++g) {
        EXPECT_NEAR(got[g], want[g], 1e-9 * want[g]) << config.lr_scheduler << " step " << step - 1;
      }
    }
  }
}

TEST(RecapSchedule, FixedSchedulesStayAtTheirFloor) {
  for (const char* name : {"cosine", "openpi_cosine", "torch_cosine"}) {
    const RecapSchedule schedule(section(name, "fixed"), {1e-5, 2e-5});
    EXPECT_NEAR(schedule.rates(20)[0], 1e-6, 1e-15) << name;
    EXPECT_NEAR(schedule.rates(1000)[0], 1e-6, 1e-15) << name;
  }
  const RecapSchedule reference(section("cosine", "reference"), {1e-5});
  EXPECT_GT(reference.rates(30)[0], 5e-6) << "rises again";
}

TEST(RecapSchedule, PytorchsSchedulesAndTheWarmupRatio) {
  const RecapSchedule constant(section("torch_constant", "fixed"), {3e-5});
  EXPECT_DOUBLE_EQ(constant.rates(4)[0], 1e-5);
  EXPECT_DOUBLE_EQ(constant.rates(5)[0], 3e-5);
  OptimSection config = section("constant", "fixed");
  config.lr_warmup_steps = -1;
  config.lr_warmup_steps_ratio = 0.5;
  const RecapSchedule ratio(config, {1e-5});
  EXPECT_DOUBLE_EQ(ratio.rates(5)[0], 5e-6);
  EXPECT_DOUBLE_EQ(ratio.rates(10)[0], 1e-5);
}

}  // namespace
}  // namespace flexor::recap
