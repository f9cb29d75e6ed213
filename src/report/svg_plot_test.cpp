#include "report/svg_plot.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "report/html_page.h"

namespace flexor::report {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(NiceTicks, AreRoundAndCoverTheRange) {
  EXPECT_THAT(nice_ticks(0, 1, 5), testing::Pointwise(testing::DoubleNear(1e-12), {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(nice_ticks(-30, 170, 4), testing::ElementsAre(0, 50, 100, 150));
  EXPECT_GE(nice_ticks(1e-9, 3e-9, 4).size(), 3u);
  EXPECT_LE(nice_ticks(0.1, 0.1 + 1e-15, 5).size(), 100u);
}

TEST(LinePlot, NotFiniteValuesLeaveAGap) {
  const double nan = std::nan("");
  const std::string svg = to_svg(
      LinePlot{.title = "t", .x_label = "x", .y_label = "y", .series = {{"a", {0, 1, 2, 3, 4}, {1, 2, nan, 3, 4}}}});
  EXPECT_EQ(count_of(svg, "<polyline"), 2u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, ALogarithmicAxisDropsWhatIsNotPositive) {
  LinePlot plot{.title = "t", .x_label = "x", .y_label = "y", .series = {{"a", {0, 1, 2, 3}, {0.0, 1.0, 100.0, -1.0}}}};
  plot.log_y = true;
  const std::string svg = to_svg(plot);
  for (const char* tick : {">1<", ">2<", ">5<", ">10<", ">100<"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, DegenerateDataIsDrawn) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(to_svg(LinePlot{.title = "t", .x_label = "", .y_label = ""}), HasSubstr("no values"));
  EXPECT_THAT(to_svg(LinePlot{.title = "t", .x_label = "", .y_label = "", .series = {{"a", {0, 1}, {inf, -inf}}}}),
              HasSubstr("no values"));
  for (const std::vector<double>& values : {std::vector<double>{5}, {0, 0, 0}, {1e300, -1e300}, {3, 3}}) {
    std::vector<double> steps(values.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i] = static_cast<double>(i);
    }
    const std::string svg =
        to_svg(LinePlot{.title = "t", .x_label = "", .y_label = "", .series = {{"a", steps, values}}});
    EXPECT_THAT(svg, testing::AnyOf(HasSubstr("<polyline"), HasSubstr("<circle")));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
}

TEST(LinePlot, BandsLieBehindTheCurvesAndWidenTheAxis) {
  LinePlot plot{.title = "t", .x_label = "", .y_label = "", .series = {{"a", {0, 1}, {0, 1}}}};
  plot.bands = {{-10, 10, 1, "std"}, {std::nan(""), 1e9, 0, "q"}};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count_of(svg, "<rect class=\"band"), 1u);
  EXPECT_LT(svg.find("<rect class=\"band fill1 std\""), svg.find("<polyline"));
  EXPECT_THAT(svg, HasSubstr("data-y=\"200.0 44.0 -11 11\""));
  EXPECT_THAT(svg, HasSubstr("data-x=\"64.0 540.0 0 1\""));
}

TEST(LinePlot, LongCurvesKeepTheirExtremesInAFewPoints) {
  Series series{"a", {}, {}};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 54'321 ? 50.0 : std::sin(i * 0.01));
  }
  const std::string svg = to_svg(LinePlot{.title = "t", .x_label = "", .y_label = "", .series = {series}});
  EXPECT_LT(svg.size(), 60'000u);
  EXPECT_EQ(count_of(svg, ">40<"), 1u);  // the axis covers the one peak
  EXPECT_EQ(count_of(svg, ",51.1 "),
            1u);  // and the curve reaches it: 5 % of the range below the top, 44 + 156 * 0.05 / 1.1
}

TEST(Histogram, CountsEveryFiniteValueOnce) {
  const BarPlot plot = histogram("h", "x", {0, 0.1, 0.5, 1.0, std::nan(""), 1.0}, 2);
  EXPECT_THAT(plot.groups[0].values, testing::ElementsAre(2, 3));
  EXPECT_THAT(to_svg(plot), HasSubstr("<rect"));
  EXPECT_THAT(histogram("h", "x", {2, 2}, 3).groups[0].values, testing::ElementsAre(2, 0, 0));
  EXPECT_THAT(to_svg(histogram("h", "x", {}, 3)), HasSubstr("no values"));
}

TEST(BarPlot, ManyLabelsAreThinnedNegativeBarsHang) {
  BarPlot plot{.title = "t", .y_label = "u"};
  std::vector<double> values;
  for (int i = 0; i < 44; ++i) {
    plot.labels.push_back("left_arm_joint_" + std::to_string(i));
    values.push_back(i % 2 == 0 ? 1.0 : -1.0);
  }
  plot.groups = {{"a", values}};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count_of(svg, "<rect"), 44u);
  EXPECT_LT(count_of(svg, "left_arm"), 8u);
  EXPECT_THAT(svg, Not(HasSubstr("height=\"-")));
}

TEST(HtmlPage, EscapesWhateverItIsGiven) {
  const std::string evil = "<script>alert('x')</script>&\"";
  HtmlPage page(evil);
  page.heading(evil);
  page.paragraph(evil);
  page.figures({{evil, evil}});
  page.table({evil}, {{evil}});
  page.folded_table(evil, {evil}, {{evil}});
  page.svg(to_svg(
      LinePlot{.title = evil, .x_label = evil, .y_label = evil, .series = {{evil, {0, 1}, {1, 2}}, {evil, {0}, {1}}}}));
  page.svg(to_svg(BarPlot{.title = evil, .y_label = evil, .labels = {evil}, .groups = {{evil, {1}}, {evil, {2}}}}));
  const std::string html = page.str();
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert('")));
  EXPECT_THAT(html, Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
}

}  // namespace
}  // namespace flexor::report
