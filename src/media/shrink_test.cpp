#include "media/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flexor::media {
namespace {

using testing::ElementsAre;

TEST(ShrinkTest, AveragesSquaresOfPixelsAndDropsTheRest) {
  Picture picture;
  picture.resize(5, 2);  // the fifth column is left over
  for (int i = 0; i < 10; ++i) {
    picture.rgb[static_cast<size_t>(i) * 3] = static_cast<uint8_t>(i);  // 0 1 2 3 4 | 5 6 7 8 9
  }
  Picture out;
  shrink(picture, 2, 1, out);
  EXPECT_EQ(out.width, 2);
  EXPECT_EQ(out.height, 1);
  EXPECT_THAT(out.rgb, ElementsAre(3, 0, 0, 5, 0, 0));  // (0+1+5+6)/4 and (2+3+7+8)/4, each 3 and 5
}

TEST(ShrinkTest, SidesAreMultiplesWhereThePictureIsLargeEnough) {
  Picture picture, out;
  picture.resize(14, 10);
  shrink(picture, 2, 2, out);
  EXPECT_EQ(out.width, 6);
  EXPECT_EQ(out.height, 4);
  picture.resize(3, 1);
  shrink(picture, 2, 1, out);
  EXPECT_EQ(out.width, 1);
  EXPECT_EQ(out.height, 1);
}

TEST(ShrinkTest, TheFactorBringsTheWidthNearest) {
  EXPECT_EQ(shrink_factor(640, 320), 2);
  EXPECT_EQ(shrink_factor(640, 220), 3);
  EXPECT_EQ(shrink_factor(96, 220), 1);
}

}  // namespace
}  // namespace flexor::media
