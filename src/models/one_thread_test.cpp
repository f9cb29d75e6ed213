// Tiny models gain nothing from a second thread, and lose much to it on a busy machine.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace flexor::models {
namespace {

class OneThread : public ::testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};
const auto* const registered = ::testing::AddGlobalTestEnvironment(new OneThread);

TEST(OneThread, IsRegistered) {
  EXPECT_NE(registered, nullptr);
  EXPECT_EQ(at::get_num_threads(), 1);
}

}  // namespace
}  // namespace flexor::models
