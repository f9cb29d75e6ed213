#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flexor::report {

/// Colours of series that the pages' style sheets know: .line0 to .line5, .fill0 to .fill5.
inline constexpr int kNumColours = 6;

/// The frame of one plot: title, legend, axes, and the mapping from values to pixels. Used by the plots of svg_plot.h.
class SvgCanvas {
 public:
  SvgCanvas(int width, int height, const std::string& title, const std::string& y_label);

  void set_x_range(double low, double high);
  void set_y_range(double low, double high, bool logarithmic);

  double x(double value) const;  ///< pixel
  double y(double value) const;  ///< pixel; `value` > 0 if logarithmic
  double left() const { return left_; }
  double right() const { return right_; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }

  void y_axis();  ///< grid lines with numbers
  void x_axis(const std::string& label);
  void legend(const std::vector<std::pair<std::string, int>>& entries);  ///< (name, colour), shown for two and more
  void message(const std::string& text);                                 ///< in the middle of the plot
  void add(std::string_view element) { body_ += element; }
  void text(double x, double y, const std::string& text, std::string_view css_class, std::string_view anchor = "start");

  /// The attributes data-x and data-y hold the mapping of each axis: "PIXEL PIXEL VALUE VALUE".
  std::string str() const;

 private:
  int width_, height_;
  double left_, right_, top_, bottom_;
  double x_low_ = 0, x_high_ = 1, y_low_ = 0, y_high_ = 1;
  bool log_y_ = false;
  std::string title_, body_;
};

/// Coordinates with one decimal.
std::string pixel(double value);

}  // namespace flexor::report
