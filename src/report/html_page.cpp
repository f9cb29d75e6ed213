#include "report/html_page.h"

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::report {
namespace {

// Colours of six series that differ for colour-blind readers too (Okabe and Ito), lighter on dark screens.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --fore: #1c2126; --soft: #5b6670; --rule: #dfe3e8; --card: #f5f7f9;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a4508b; --c4: #b07d00; --c5: #4d6d8a; }
@media (prefers-color-scheme: dark) { :root { --back: #14181c; --fore: #e6e9ec; --soft: #9aa5b0; --rule: #333b44; --card: #1d2329;
  --c0: #5ab4ec; --c1: #ff9a57; --c2: #3ccfa4; --c3: #de8fc4; --c4: #e6b84a; --c5: #a7bfd4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 24px 20px 60px; background: var(--back); color: var(--fore);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 34px 0 10px; }
p { margin: 6px 0; color: var(--soft); overflow-wrap: anywhere; }
.figures { display: flex; flex-wrap: wrap; gap: 10px; margin: 18px 0; }
.figures div { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 8px 14px; min-width: 130px; }
.figures b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; } .figures span { color: var(--soft); font-size: 13px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 14px; }
.plots figure { margin: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 8px; }
svg.plot { display: block; width: 100%; height: auto; font-family: inherit; }
svg .title { fill: var(--fore); font-size: 14px; font-weight: 600; }
svg .label { fill: var(--soft); font-size: 12px; } svg .tick { fill: var(--soft); font-size: 11.5px; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .axis { stroke: var(--soft); stroke-width: 1; }
svg polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round; } svg polyline.faint { stroke-width: 1; opacity: 0.4; }
svg .band { opacity: 0.13; } svg .area { opacity: 0.16; } svg .marker { stroke-width: 1.8; stroke-dasharray: 5 4; }
svg .dots { fill: none; stroke-width: 4.5; stroke-linecap: round; opacity: 0.6; }
svg .line0 { stroke: var(--c0); } svg .line1 { stroke: var(--c1); } svg .line2 { stroke: var(--c2); }
svg .line3 { stroke: var(--c3); } svg .line4 { stroke: var(--c4); } svg .line5 { stroke: var(--c5); }
svg .fill0 { fill: var(--c0); } svg .fill1 { fill: var(--c1); } svg .fill2 { fill: var(--c2); }
svg .fill3 { fill: var(--c3); } svg .fill4 { fill: var(--c4); } svg .fill5 { fill: var(--c5); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td { overflow-wrap: anywhere; }
summary { cursor: pointer; margin: 8px 0; }
@media print { body { max-width: none; } .plots figure { break-inside: avoid; } }
)";

std::string table_html(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& cell : header) {
    out += "<th scope=\"col\">" + escape_html(cell) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) {
      out += "<td>" + escape_html(cell) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : to_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string json_for_script(const Json& json) {
  std::string out;
  for (const char c : json.dump()) {  // "<" stands in texts only: "</script" and "<!--" cannot come up
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

HtmlPage::HtmlPage(const std::string& title) : title_(title) {
  body_ = "<h1>" + escape_html(title) + "</h1>\n";
}

void HtmlPage::heading(const std::string& text) {
  body_ += "<h2>" + escape_html(text) + "</h2>\n";
}

void HtmlPage::paragraph(const std::string& text) {
  body_ += "<p>" + escape_html(text) + "</p>\n";
}

void HtmlPage::figures(const std::vector<std::pair<std::string, std::string>>& entries) {
  body_ += "<div class=\"figures\">\n";
  for (const auto& [name, value] : entries) {
    body_ += "<div><b>" + escape_html(value) + "</b><span>" + escape_html(name) + "</span></div>\n";
  }
  body_ += "</div>\n";
}

void HtmlPage::table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  body_ += table_html(header, rows);
}

void HtmlPage::folded_table(const std::string& summary, const std::vector<std::string>& header,
                            const std::vector<std::vector<std::string>>& rows) {
  body_ += "<details><summary>" + escape_html(summary) + "</summary>\n" + table_html(header, rows) + "</details>\n";
}

void HtmlPage::plots(const std::vector<std::string>& svgs) {
  body_ += "<div class=\"plots\">\n";
  for (const std::string& svg : svgs) {
    body_ += "<figure>" + svg + "</figure>\n";
  }
  body_ += "</div>\n";
}

std::string HtmlPage::str() const {
  const std::string script = script_.empty() ? "" : str_cat("<script>", script_, "</script>\n");
  return str_cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:; media-src data: blob:",
      script_.empty() ? "" : "; script-src 'unsafe-inline'",
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>", escape_html(title_),
      "</title>\n<style>", kStyle, style_, "</style>\n</head>\n<body>\n", body_, script, "</body>\n</html>\n");
}

}  // namespace flexor::report
