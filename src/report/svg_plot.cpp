#include "report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "report/svg_canvas.h"

namespace flexor::report {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

bool is_drawn(double value, bool log_y) {
  return std::isfinite(value) && (!log_y || value > 0);
}

/// Some room around the values; a single value gets a range too.
Range with_margin(Range range, bool from_zero) {
  if (from_zero) {
    range.include(0.0);
  }
  const double size = range.high - range.low;
  const double margin = size > 0 ? 0.05 * size : std::max(std::abs(range.low) * 0.1, 1e-12);
  const bool touches_zero = from_zero && range.low == 0.0;
  return {touches_zero ? 0.0 : range.low - margin, range.high + margin};
}

Range with_log_margin(Range range) {
  const bool is_flat = range.high / range.low < 1.01;
  const double factor = is_flat ? 3.0 : std::pow(range.high / range.low, 0.05);
  return {range.low / factor, range.high * factor};
}

int colour_of(const Series& series, size_t place) {
  return (series.colour >= 0 ? series.colour : static_cast<int>(place)) % kNumColours;
}

using Point = std::pair<double, double>;

/// Runs of drawable points in pixels; of many points in one pixel column only first, lowest, highest and last.
std::vector<std::vector<Point>> runs_of(const Series& series, const SvgCanvas& canvas, bool log_y) {
  std::vector<std::vector<Point>> runs(1);
  std::vector<Point> column;
  const auto flush = [&] {
    if (column.size() > 4) {
      const auto by_y = [](const Point& a, const Point& b) { return a.second < b.second; };
      auto [low, high] = std::minmax_element(column.begin(), column.end(), by_y);
      if (low > high) {
        std::swap(low, high);
      }
      runs.back().insert(runs.back().end(), {column.front(), *low, *high, column.back()});
    } else {
      runs.back().insert(runs.back().end(), column.begin(), column.end());
    }
    column.clear();
  };
  for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (!is_drawn(series.y[i], log_y)) {
      flush();
      if (!runs.back().empty()) {
        runs.emplace_back();
      }
      continue;
    }
    const Point point(canvas.x(series.x[i]), canvas.y(series.y[i]));
    if (!column.empty() && std::floor(column.front().first) != std::floor(point.first)) {
      flush();
    }
    column.push_back(point);
  }
  flush();
  return runs;
}

void draw(SvgCanvas& canvas, const Series& series, int colour, bool log_y) {
  const std::string css = str_cat("line", colour, series.faint ? " faint" : "");
  for (const std::vector<Point>& run : runs_of(series, canvas, log_y)) {
    std::string points;
    for (const auto& [px, py] : run) {
      points += str_cat(pixel(px), ",", pixel(py), " ");
      if (series.points || run.size() == 1) {
        canvas.add(
            str_cat("<circle class=\"fill", colour, "\" cx=\"", pixel(px), "\" cy=\"", pixel(py), "\" r=\"3\"/>"));
      }
    }
    if (run.size() > 1) {
      canvas.add(str_cat("<polyline class=\"", css, "\" points=\"", points, "\"/>\n"));
    }
  }
}

void draw(SvgCanvas& canvas, const Band& band, bool log_y) {
  if (is_drawn(band.low, log_y) && is_drawn(band.high, log_y)) {
    constexpr double kThinnest = 1.5;  // a band without width is a line
    const double top = canvas.y(std::max(band.low, band.high)), bottom = canvas.y(std::min(band.low, band.high));
    const double height = std::max(kThinnest, bottom - top);
    canvas.add(str_cat("<rect class=\"band fill", band.colour % kNumColours, band.css_class.empty() ? "" : " ",
                       band.css_class, "\" x=\"", pixel(canvas.left()), "\" y=\"", pixel((top + bottom - height) / 2),
                       "\" width=\"", pixel(canvas.right() - canvas.left()), "\" height=\"", pixel(height), "\"/>\n"));
  }
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (step < rough * 0.999) {
      step = factor * power;
    }
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last && ticks.size() < 100; k += 1.0) {
    ticks.push_back(k * step);
  }
  return ticks;
}

std::string to_svg(const LinePlot& plot) {
  SvgCanvas canvas(plot.width, plot.height, plot.title, plot.y_label);
  Range xs, ys;
  std::vector<std::pair<std::string, int>> names;
  for (size_t place = 0; place < plot.series.size(); ++place) {
    const Series& series = plot.series[place];
    if (!series.faint) {
      names.emplace_back(series.name, colour_of(series, place));
    }
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (is_drawn(series.y[i], plot.log_y)) {
        xs.include(series.x[i]);
        ys.include(series.y[i]);
      }
    }
  }
  if (ys.is_empty()) {
    canvas.message("no values");
    return canvas.str();
  }
  for (const Band& band : plot.bands) {
    if (is_drawn(band.low, plot.log_y) && is_drawn(band.high, plot.log_y)) {
      ys.include(band.low);
      ys.include(band.high);
    }
  }
  ys = plot.log_y ? with_log_margin(ys) : with_margin(ys, plot.from_zero);
  canvas.set_x_range(xs.low, xs.high);
  canvas.set_y_range(ys.low, ys.high, plot.log_y);
  for (const Band& band : plot.bands) {
    draw(canvas, band, plot.log_y);
  }
  canvas.y_axis();
  canvas.x_axis(plot.x_label);
  canvas.legend(names);
  for (const bool faint : {true, false}) {
    for (size_t i = 0; i < plot.series.size(); ++i) {
      if (plot.series[i].faint == faint) {
        draw(canvas, plot.series[i], colour_of(plot.series[i], i), plot.log_y);
      }
    }
  }
  return canvas.str();
}

std::string to_svg(const BarPlot& plot) {
  SvgCanvas canvas(plot.width, plot.height, plot.title, plot.y_label);
  Range ys;
  std::vector<std::pair<std::string, int>> names;
  for (const BarGroup& group : plot.groups) {
    names.emplace_back(group.name, static_cast<int>(names.size()) % kNumColours);
    for (const double value : group.values) {
      if (std::isfinite(value)) {
        ys.include(value);
      }
    }
  }
  if (ys.is_empty() || plot.labels.empty()) {
    canvas.message("no values");
    return canvas.str();
  }
  ys = with_margin(ys, /*from_zero=*/true);
  canvas.set_x_range(0, static_cast<double>(plot.labels.size()));
  canvas.set_y_range(ys.low, ys.high, false);
  canvas.y_axis();
  canvas.legend(names);
  const double slot = (canvas.right() - canvas.left()) / static_cast<double>(plot.labels.size());
  const double bar = slot * 0.8 / static_cast<double>(plot.groups.size());
  constexpr double kCharacter = 6.4;
  size_t longest = 1;
  for (const std::string& label : plot.labels) {
    longest = std::max(longest, label.size());
  }
  const size_t every = static_cast<size_t>(std::ceil(kCharacter * static_cast<double>(longest + 1) / slot));
  for (size_t i = 0; i < plot.labels.size(); ++i) {
    const double left = canvas.left() + slot * (static_cast<double>(i) + 0.1);
    for (size_t g = 0; g < plot.groups.size(); ++g) {
      const double value = i < plot.groups[g].values.size() ? plot.groups[g].values[i] : std::nan("");
      if (std::isfinite(value)) {
        const double a = canvas.y(std::max(value, 0.0)), b = canvas.y(std::min(value, 0.0));
        canvas.add(str_cat("<rect class=\"fill", names[g].second, "\" x=\"", pixel(left + bar * static_cast<double>(g)),
                           "\" y=\"", pixel(a), "\" width=\"", pixel(bar), "\" height=\"", pixel(b - a), "\"/>"));
      }
    }
    if (i % std::max<size_t>(every, 1) == 0) {
      canvas.text(left + slot * 0.4, canvas.bottom() + 15, plot.labels[i], "tick", "middle");
    }
  }
  return canvas.str();
}

BarPlot histogram(std::string title, const std::string& x_label, const std::vector<double>& values, int num_bins) {
  Range range;
  for (const double value : values) {
    if (std::isfinite(value)) {
      range.include(value);
    }
  }
  BarPlot plot{.title = std::move(title), .y_label = "count of " + x_label};
  if (range.is_empty()) {
    return plot;
  }
  const auto bins = static_cast<size_t>(std::max(num_bins, 1));
  const double width = range.high > range.low ? (range.high - range.low) / static_cast<double>(bins) : 1.0;
  std::vector<double> counts(bins, 0.0);
  for (const double value : values) {
    if (std::isfinite(value)) {
      const auto bin = static_cast<size_t>(std::max(0.0, (value - range.low) / width));
      counts[std::min(bin, bins - 1)] += 1.0;
    }
  }
  for (size_t i = 0; i < bins; ++i) {
    plot.labels.push_back(short_number(range.low + width * (static_cast<double>(i) + 0.5), 3));
  }
  plot.groups.push_back({x_label, std::move(counts)});
  return plot;
}

}  // namespace flexor::report
