#include "report/distribution_plot.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flexor::report {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(DistributionPlotTest, DrawsEveryGroupAndItsMarkersOverOneAxis) {
  DistributionPlot plot{.title = "A <b>", .x_label = "advantage", .y_label = "%", .edges = {0, 1, 2}};
  plot.groups = {{"good", {10, 30}, 0}, {"bad", {50, 0}, 1}};
  plot.markers = {{4, "threshold", 4}};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, "<polygon class=\"area"), 2U);
  EXPECT_THAT(svg, HasSubstr("A &lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr(">threshold</text>"));
  // The marker at 4 widens the axis, which spans 64 to 540: the edges 0, 1, 2 stand at 64, 183, 302; 50 of the 56 units
  // of height are drawn above the axis at 200, from 44.
  EXPECT_THAT(svg, HasSubstr("data-x=\"64.0 540.0 0 4\""));
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,200.0 64.0,60.7 183.0,60.7 183.0,200.0 302.0,200.0 302.0,200.0\""));
}

TEST(DistributionPlotTest, WithoutValuesItSaysSo) {
  EXPECT_THAT(to_svg(DistributionPlot{.title = "a", .x_label = "", .y_label = ""}), HasSubstr("no values"));
  EXPECT_THAT(to_svg(ScatterPlot{.title = "a", .x_label = "", .y_label = ""}), HasSubstr("no values"));
}

TEST(ScatterPlotTest, DrawsOneDotForEachFinitePoint) {
  ScatterPlot plot{.title = "V against G", .x_label = "G", .y_label = "V"};
  plot.groups = {{"good", {0, 1, std::nan("")}, {0, 1, 2}, 0}, {"bad", {0.5}, {INFINITY}, 1}};
  plot.diagonal = true;
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, "h0"), 2U);
  EXPECT_EQ(count(svg, "<path class=\"dots"), 1U);  // the other group has no point that can be drawn
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  plot.connected = true;
  EXPECT_THAT(to_svg(plot), HasSubstr("<polyline class=\"line0\""));
}

TEST(ScatterPlotTest, EqualPointsGetARange) {
  ScatterPlot plot{.title = "", .x_label = "", .y_label = ""};
  plot.groups = {{"one", {-0.5, -0.5}, {0, 0}, 0}};
  EXPECT_THAT(to_svg(plot), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace flexor::report
