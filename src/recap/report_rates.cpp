#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "base/text.h"
#include "recap/report_sections.h"

namespace flexor::recap {
namespace {

using report::escape_html;

constexpr size_t kMostRates = 30, kMostFoldedRates = 300;

std::string bar_cell(double share) {
  const double width = std::isfinite(share) ? 100 * share : 0;
  return str_cat("<td><span class=\"bar\"><i style=\"width:", short_number(width, 3), "%\"></i></span>", percent(share),
                 "</td>");
}

std::string rates_table(const std::string& what, const PositiveRate* first, const PositiveRate* last, bool is_steam) {
  std::string html = str_cat("<div class=\"scroll\"><table class=\"rates\">\n<thead><tr><th scope=\"col\">", what,
                             "</th><th scope=\"col\">type</th><th scope=\"col\" class=\"number\">frames</th>"
                             "<th scope=\"col\">positive</th><th scope=\"col\">positive, attempts only</th>"
                             "<th scope=\"col\" class=\"number\">by ",
                             is_steam ? "score" : "A",
                             " alone</th><th scope=\"col\" class=\"number\">threshold</th></tr></thead>\n<tbody>\n");
  for (const PositiveRate* rate = first; rate != last; ++rate) {
    const std::string type = !rate->type.empty() ? rate->type : rate->attempts == 0 ? "sft" : "";
    html += str_cat("<tr><td>", escape_html(to_utf8(rate->name)), "</td><td>", escape_html(type),
                    "</td><td class=\"number\">", rate->frames, "</td>", bar_cell(rate->positive_share()),
                    bar_cell(rate->attempts_share()), "<td class=\"number\">",
                    percent(PositiveRate::share(rate->above, rate->frames)), "</td><td class=\"number\">",
                    rate->threshold ? short_number(*rate->threshold, 4) : "-", "</td></tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string percent(double share) {
  return std::isfinite(share) ? short_number(100 * share, 3) + " %" : "-";
}

void add_positive_rates(report::HtmlPage& page, const std::string& what, const std::vector<PositiveRate>& rates,
                        bool is_steam) {
  const size_t shown = std::min(kMostRates, rates.size()), folded = std::min(kMostFoldedRates, rates.size());
  page.markup(rates_table(what, rates.data(), rates.data() + shown, is_steam));
  if (folded > shown) {
    page.markup(str_cat("<details><summary>", folded - shown, " more",
                        folded < rates.size() ? ", all in positive_rates.csv" : "", "</summary>\n",
                        rates_table(what, rates.data() + shown, rates.data() + folded, is_steam), "</details>\n"));
  }
}

}  // namespace flexor::recap
