#include "report/distribution_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/str_cat.h"
#include "report/svg_canvas.h"

namespace flexor::report {
namespace {

using Legend = std::vector<std::pair<std::string, int>>;

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  bool is_empty() const { return low > high; }
  Extent with_margin() const {
    constexpr double kShare = 0.04;
    const double margin = high > low ? kShare * (high - low) : std::max(std::abs(low) * 0.1, 1e-12);
    return {low - margin, high + margin};
  }
};

/// The outline of a group: up and down at the edges, from the axis to the axis.
std::string outline(const SvgCanvas& canvas, const std::vector<double>& edges, const BinGroup& group) {
  std::string points = str_cat(pixel(canvas.x(edges.front())), ",", pixel(canvas.y(0)));
  for (size_t bin = 0; bin + 1 < edges.size(); ++bin) {
    const double height = bin < group.heights.size() && std::isfinite(group.heights[bin]) ? group.heights[bin] : 0.0;
    const std::string y = pixel(canvas.y(height));
    points += str_cat(" ", pixel(canvas.x(edges[bin])), ",", y, " ", pixel(canvas.x(edges[bin + 1])), ",", y);
  }
  return str_cat(points, " ", pixel(canvas.x(edges.back())), ",", pixel(canvas.y(0)));
}

void draw(SvgCanvas& canvas, const Marker& marker) {
  constexpr double kRightPart = 0.7;
  const double at = canvas.x(marker.x);
  const bool is_right = at > canvas.left() + kRightPart * (canvas.right() - canvas.left());
  canvas.add(str_cat("<line class=\"marker line", marker.colour % kNumColours, "\" x1=\"", pixel(at), "\" x2=\"",
                     pixel(at), "\" y1=\"", pixel(canvas.top()), "\" y2=\"", pixel(canvas.bottom()), "\"/>\n"));
  canvas.text(is_right ? at - 5 : at + 5, canvas.top() + 10, marker.name, "label", is_right ? "end" : "start");
}

/// One path of strokes without length, whose round ends are the dots.
std::string dots(const SvgCanvas& canvas, const PointGroup& group) {
  std::string path;
  for (size_t i = 0; i < std::min(group.x.size(), group.y.size()); ++i) {
    if (std::isfinite(group.x[i]) && std::isfinite(group.y[i])) {
      path += str_cat("M", pixel(canvas.x(group.x[i])), " ", pixel(canvas.y(group.y[i])), "h0");
    }
  }
  return path.empty() ? "" : str_cat("<path class=\"dots line", group.colour % kNumColours, "\" d=\"", path, "\"/>\n");
}

std::string line_through(const SvgCanvas& canvas, const PointGroup& group) {
  std::string points;
  for (size_t i = 0; i < std::min(group.x.size(), group.y.size()); ++i) {
    if (std::isfinite(group.x[i]) && std::isfinite(group.y[i])) {
      points += str_cat(pixel(canvas.x(group.x[i])), ",", pixel(canvas.y(group.y[i])), " ");
    }
  }
  return str_cat("<polyline class=\"line", group.colour % kNumColours, "\" points=\"", points, "\"/>\n");
}

void draw_diagonal(SvgCanvas& canvas, const Extent& xs, const Extent& ys) {
  const double low = std::max(xs.low, ys.low), high = std::min(xs.high, ys.high);
  if (low < high) {
    canvas.add(str_cat("<line class=\"axis\" x1=\"", pixel(canvas.x(low)), "\" y1=\"", pixel(canvas.y(low)), "\" x2=\"",
                       pixel(canvas.x(high)), "\" y2=\"", pixel(canvas.y(high)), "\"/>\n"));
  }
}

}  // namespace

std::string to_svg(const DistributionPlot& plot) {
  SvgCanvas canvas(plot.width, plot.height, plot.title, plot.y_label);
  Extent xs, ys;
  Legend names;
  for (const BinGroup& group : plot.groups) {
    names.emplace_back(group.name, group.colour % kNumColours);
    std::for_each(group.heights.begin(), group.heights.end(), [&ys](double height) { ys.include(height); });
  }
  if (ys.is_empty() || plot.edges.size() < 2) {
    canvas.message("no values");
    return canvas.str();
  }
  xs.include(plot.edges.front());
  xs.include(plot.edges.back());
  for (const Marker& marker : plot.markers) {
    xs.include(marker.x);
  }
  constexpr double kHeadroom = 1.12;  // for the names of the markers
  canvas.set_x_range(xs.low, xs.high);
  canvas.set_y_range(0, ys.high > 0 ? ys.high * kHeadroom : 1, false);
  canvas.y_axis();
  canvas.x_axis(plot.x_label);
  canvas.legend(names);
  for (const BinGroup& group : plot.groups) {
    const std::string points = outline(canvas, plot.edges, group);
    const int colour = group.colour % kNumColours;
    canvas.add(str_cat("<polygon class=\"area fill", colour, "\" points=\"", points, "\"/>\n<polyline class=\"line",
                       colour, "\" points=\"", points, "\"/>\n"));
  }
  for (const Marker& marker : plot.markers) {
    if (std::isfinite(marker.x)) {
      draw(canvas, marker);
    }
  }
  return canvas.str();
}

std::string to_svg(const ScatterPlot& plot) {
  SvgCanvas canvas(plot.width, plot.height, plot.title, plot.y_label);
  Extent xs, ys;
  Legend names;
  for (const PointGroup& group : plot.groups) {
    names.emplace_back(group.name, group.colour % kNumColours);
    for (size_t i = 0; i < std::min(group.x.size(), group.y.size()); ++i) {
      if (std::isfinite(group.x[i]) && std::isfinite(group.y[i])) {
        xs.include(group.x[i]);
        ys.include(group.y[i]);
      }
    }
  }
  if (xs.is_empty()) {
    canvas.message("no values");
    return canvas.str();
  }
  xs = xs.with_margin();
  ys = ys.with_margin();
  canvas.set_x_range(xs.low, xs.high);
  canvas.set_y_range(ys.low, ys.high, false);
  canvas.y_axis();
  canvas.x_axis(plot.x_label);
  canvas.legend(names);
  if (plot.diagonal) {
    draw_diagonal(canvas, xs, ys);
  }
  for (const PointGroup& group : plot.groups) {
    canvas.add((plot.connected ? line_through(canvas, group) : "") + dots(canvas, group));
  }
  return canvas.str();
}

}  // namespace flexor::report
