#pragma once
#include <string>
#include <vector>

namespace flexor::report {

/// One curve. Points that are not finite leave a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;  ///< equally many; x ascending
  bool faint = false;        ///< drawn thin, behind the others, not in the legend: the raw values of a smoothed curve
  bool points = false;       ///< a dot at each value
  int colour = -1;           ///< 0..5; by default the place in the list
};

/// A range of values across the whole plot, behind the curves: mean +- std.
struct Band {
  double low = 0, high = 0;    ///< one that is not finite is not drawn
  int colour = 0;              ///< 0..5
  std::string css_class = {};  ///< besides "band", for style sheets
};

struct LinePlot {
  std::string title, x_label, y_label;
  std::vector<Series> series = {};
  std::vector<Band> bands = {};  ///< the y axis covers them
  bool log_y = false;            ///< decades; values that are not positive leave a gap
  bool from_zero = false;        ///< the y axis starts at 0
  int width = 560, height = 240;
};

struct BarGroup {
  std::string name;
  std::vector<double> values;  ///< one per label; not finite: no bar
};

struct BarPlot {
  std::string title, y_label;
  std::vector<std::string> labels = {};
  std::vector<BarGroup> groups = {};  ///< side by side at each label
  int width = 560, height = 240;
};

// Inline SVG for an HtmlPage, whose style sheet gives the colours for light and dark screens. Every text is escaped. A
// plot without a finite value says so. Curves with more points than the plot has pixels keep the extremes of each
// pixel.
std::string to_svg(const LinePlot& plot);
std::string to_svg(const BarPlot& plot);

/// Counts of equally wide bins from the smallest to the largest finite value.
BarPlot histogram(std::string title, const std::string& x_label, const std::vector<double>& values, int num_bins = 20);

/// Round numbers that cover [low, high], about `count` of them; low < high.
std::vector<double> nice_ticks(double low, double high, int count);

}  // namespace flexor::report
