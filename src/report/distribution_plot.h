#pragma once
#include <string>
#include <vector>

namespace flexor::report {

/// A dashed vertical line with its name.
struct Marker {
  double x = 0;
  std::string name;
  int colour = 4;  ///< 0..5
};

/// Heights of one group, one per bin; all are drawn over each other, half transparent.
struct BinGroup {
  std::string name;
  std::vector<double> heights;
  int colour = 0;  ///< 0..5
};

/// Histograms of several groups over one axis of numbers.
struct DistributionPlot {
  std::string title, x_label, y_label;
  std::vector<double> edges = {};  ///< ascending; one more than bins
  std::vector<BinGroup> groups = {};
  std::vector<Marker> markers = {};  ///< those outside of the edges widen the axis
  int width = 560, height = 240;
};

struct PointGroup {
  std::string name;
  std::vector<double> x, y;  ///< equally many; points that are not finite are left out
  int colour = 0;            ///< 0..5
};

struct ScatterPlot {
  std::string title, x_label, y_label;
  std::vector<PointGroup> groups = {};
  bool diagonal = false;   ///< a thin line where y = x
  bool connected = false;  ///< a line through the points of each group
  int width = 560, height = 300;
};

// As the plots of svg_plot.h: inline SVG for an HtmlPage, every text escaped, "no values" without a finite value.
std::string to_svg(const DistributionPlot& plot);
std::string to_svg(const ScatterPlot& plot);

}  // namespace flexor::report
