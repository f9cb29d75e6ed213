#pragma once
#include <string_view>

namespace flexor::recap {

/// Style and script of a RECAP run's page, after those of report::HtmlPage. The script lets a cursor run through the
/// plots of an episode; without it everything else is there.
extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace flexor::recap
