#include "curate/file_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flexor::curate {
namespace {

using ::testing::ElementsAre;

TEST(FileGroups, AUnitOpensANewFileWhenBothReachTheLimit) {
  EXPECT_THAT(group_by_size({1, 1, 1, 1}, 10), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(group_by_size({3, 3, 4, 1}, 10), ElementsAre(0, 0, 1, 1));  // 3 + 3 + 4 reaches it
  EXPECT_THAT(group_by_size({3, 3, 3.999, 1}, 10), ElementsAre(0, 0, 0, 1));
}

TEST(FileGroups, AUnitBeyondTheLimitHasAFileOfItsOwn) {
  EXPECT_THAT(group_by_size({20, 20, 1, 1, 20}, 10), ElementsAre(0, 1, 2, 2, 3));
  EXPECT_THAT(group_by_size({}, 10), ElementsAre());
}

TEST(FileGroups, AChunkFolderHoldsAThousandFiles) {
  EXPECT_EQ(place_of(999), (FilePlace{0, 999}));
  EXPECT_EQ(place_of(1000), (FilePlace{1, 0}));
}

}  // namespace
}  // namespace flexor::curate
