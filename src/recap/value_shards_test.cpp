#include "recap/value_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace flexor::recap {
namespace {

TEST(ValueShards, ThatStayAreAnError) {
  remove_value_shards("/tmp/flexor_no_such_folder");  // nothing to remove is fine
  try {
    remove_value_shards("/proc/self/fdinfo");  // nobody may remove it, not even root
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
    EXPECT_THAT(
        format_error(error),
        ::testing::StartsWith("error: cannot remove the values of an earlier run: operation not permitted (/proc/"));
  }
}

}  // namespace
}  // namespace flexor::recap
