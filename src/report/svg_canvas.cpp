#include "report/svg_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/str_cat.h"
#include "base/text.h"
#include "report/html_page.h"
#include "report/svg_plot.h"

namespace flexor::report {
namespace {

constexpr double kLeft = 64, kRight = 20, kTop = 44, kBottom = 40;
constexpr int kYTicks = 5, kXTicks = 7;
constexpr int kDigits = 9;  // of the axes' ends, for scripts

/// A tick's number with the digits that tell it from its neighbour.
std::string tick_text(double value, double step) {
  constexpr double kTiny = 1e-12, kBig = 1e5, kSmall = 1e-3;
  if (std::abs(value) < step * kTiny) {
    return "0";
  }
  if (std::abs(value) >= kBig || std::abs(value) < kSmall) {
    return short_number(value, 3);
  }
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return buffer.data();
}

/// Powers of ten between 10^low and 10^high; of a short range also their 2- and 5-folds; of a long one every n-th.
std::vector<double> decade_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(low)), last = static_cast<int>(std::ceil(high));
  constexpr double kShort = 2.5;
  constexpr int kMost = 8;
  const int every = std::max(1, (last - first) / kMost);
  std::vector<double> ticks;
  for (int decade = first; decade <= last; decade += every) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, decade);
      const bool is_inside = std::log10(tick) >= low && std::log10(tick) <= high;
      if (is_inside && (factor == 1.0 || high - low <= kShort)) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

}  // namespace

std::string pixel(double value) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.1f", value);
  return buffer.data();
}

SvgCanvas::SvgCanvas(int width, int height, const std::string& title, const std::string& y_label)
    : width_(width),
      height_(height),
      left_(kLeft),
      right_(width - kRight),
      top_(kTop),
      bottom_(height - kBottom),
      title_(title) {
  text(8, 16, title, "title");
  text(8, 34, y_label, "label");
}

void SvgCanvas::set_x_range(double low, double high) {
  x_low_ = low;
  x_high_ = high > low ? high : low + 1;
}

void SvgCanvas::set_y_range(double low, double high, bool logarithmic) {
  log_y_ = logarithmic;
  y_low_ = logarithmic ? std::log10(low) : low;
  y_high_ = logarithmic ? std::log10(high) : high;
}

double SvgCanvas::x(double value) const {
  return left_ + (value - x_low_) / (x_high_ - x_low_) * (right_ - left_);
}

double SvgCanvas::y(double value) const {
  const double scaled = log_y_ ? std::log10(value) : value;
  return bottom_ - (scaled - y_low_) / (y_high_ - y_low_) * (bottom_ - top_);
}

void SvgCanvas::text(double x, double y, const std::string& text, std::string_view css_class, std::string_view anchor) {
  body_ += str_cat("<text class=\"", css_class, "\" x=\"", pixel(x), "\" y=\"", pixel(y), "\" text-anchor=\"", anchor,
                   "\">", escape_html(text), "</text>\n");
}

void SvgCanvas::y_axis() {
  const std::vector<double> ticks = log_y_ ? decade_ticks(y_low_, y_high_) : nice_ticks(y_low_, y_high_, kYTicks);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1.0;
  for (const double tick : ticks) {
    const double at = y(tick);
    body_ += str_cat("<line class=\"grid\" x1=\"", pixel(left_), "\" x2=\"", pixel(right_), "\" y1=\"", pixel(at),
                     "\" y2=\"", pixel(at), "\"/>");
    text(left_ - 6, at + 4, log_y_ ? short_number(tick, 3) : tick_text(tick, step), "tick", "end");
  }
}

void SvgCanvas::x_axis(const std::string& label) {
  const std::vector<double> ticks = nice_ticks(x_low_, x_high_, kXTicks);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1.0;
  body_ += str_cat("<line class=\"axis\" x1=\"", pixel(left_), "\" x2=\"", pixel(right_), "\" y1=\"", pixel(bottom_),
                   "\" y2=\"", pixel(bottom_), "\"/>");
  for (const double tick : ticks) {
    text(x(tick), bottom_ + 15, tick_text(tick, step), "tick", "middle");
  }
  text(right_, bottom_ + 32, label, "label", "end");
}

void SvgCanvas::legend(const std::vector<std::pair<std::string, int>>& entries) {
  if (entries.size() < 2) {
    return;
  }
  constexpr double kCharacter = 6.6, kMark = 16, kGap = 18;
  double at = right_;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto& [name, colour] = *entry;
    at -= kCharacter * static_cast<double>(name.size());
    text(at, 34, name, "label");
    at -= kMark;
    body_ += str_cat("<rect class=\"fill", colour, "\" x=\"", pixel(at), "\" y=\"26\" width=\"11\" height=\"8\"/>");
    at -= kGap;
  }
}

void SvgCanvas::message(const std::string& message_text) {
  text((left_ + right_) / 2, (top_ + bottom_) / 2, message_text, "label", "middle");
}

std::string SvgCanvas::str() const {
  const auto axis = [](double from, double to, double low, double high) {
    return str_cat(pixel(from), " ", pixel(to), " ", short_number(low, kDigits), " ", short_number(high, kDigits));
  };
  return str_cat("<svg class=\"plot\" viewBox=\"0 0 ", width_, " ", height_, "\" role=\"img\" aria-label=\"",
                 escape_html(title_), "\" data-x=\"", axis(left_, right_, x_low_, x_high_), "\" data-y=\"",
                 axis(bottom_, top_, y_low_, y_high_), "\">\n", body_, "</svg>\n");
}

}  // namespace flexor::report
