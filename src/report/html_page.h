#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace flexor::report {

/// Text that stands for itself in HTML, in attributes too.
std::string escape_html(std::string_view text);

/// JSON that may stand inside a <script> element, whatever its texts contain.
std::string json_for_script(const Json& json);

/// One page in one file, for light and dark screens and paper: nothing from a network, no script but what add_script()
/// gets. Every text that is handed over is escaped; only svg() and markup() take markup, which comes from svg_plot.h or
/// has its texts escaped by the caller.
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

  void markup(std::string_view html) { body_ += html; }
  void add_style(std::string_view css) { style_ += css; }      ///< after the page's own
  void add_script(std::string_view code) { script_ += code; }  ///< runs when the page is complete

  std::string str() const;

 private:
  std::string title_, body_, style_, script_;
};

}  // namespace flexor::report
