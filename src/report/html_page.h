#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flexor::report {

/// Text that stands for itself in HTML, in attributes too.
std::string escape_html(std::string_view text);

/// One page in one file, for light and dark screens and paper: no script, nothing from a network. Every text that is
/// handed over is escaped; only svg() takes markup, which comes from svg_plot.h.
class HtmlPage {
 public:
  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  /// Large figures side by side: (name, value).
  void figures(const std::vector<std::pair<std::string, std::string>>& entries);
  void table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
  /// A table that is closed until it is clicked.
  void folded_table(const std::string& summary, const std::vector<std::string>& header,
                    const std::vector<std::vector<std::string>>& rows);
  /// Plots side by side where the window is wide enough.
  void plots(const std::vector<std::string>& svgs);
  void svg(const std::string& markup) { plots({markup}); }

  std::string str() const;

 private:
  std::string title_, body_;
};

}  // namespace flexor::report
