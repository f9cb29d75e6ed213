#include "tensor/rng.h"

#include <gtest/gtest.h>
#include <set>

#include "base/error.h"
#include "tensor/shape.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

TEST(Rng, AStateOfPyTorchContinuesTheSameNumbers) {
  at::Generator generator = make_generator(3);
  (void)at::randn({5}, generator);
  const Tensor state = generator_state(generator);
  const Tensor next = at::randn({7}, generator);
  at::Generator other = make_generator(99);
  other.set_state(state);
  EXPECT_TRUE(at::equal(at::randn({7}, other), next));
}

TEST(Rng, StreamsOfNearbyArgumentsDiffer) {
  std::set<uint64_t> seeds;
  for (uint64_t a = 0; a < 10; ++a) {
    for (uint64_t b = 0; b < 10; ++b) {
      for (uint64_t c = 0; c < 10; ++c) {
        seeds.insert(stream_seed(1000, a, b, c));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 1000);
}

TEST(Tap, TheInnermostRecorderGetsTheTensors) {
  std::vector<std::string> outer, inner;
  EXPECT_FALSE(tap_active());
  const TapRecorder first([&](std::string_view name, const Tensor&) { outer.emplace_back(name); });
  tap("a", at::ones({1}));
  {
    const TapRecorder second([&](std::string_view name, const Tensor&) { inner.emplace_back(name); });
    tap("b", at::ones({1}));
  }
  tap("c", at::ones({1}));
  EXPECT_EQ(outer, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(inner, (std::vector<std::string>{"b"}));
}

TEST(Shape, AMismatchSaysExpectedAndFound) {
  check_shape(at::ones({2, 3}), {2, -1}, "x [B, D]");
  try {
    check_shape(at::ones({2, 3}), {2, 4}, "x [B, D]");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x [B, D]: expected shape [2, 4], got [2, 3]");
  }
  EXPECT_EQ(dtype_name(at::kBFloat16), "bfloat16");
}

}  // namespace
}  // namespace flexor
