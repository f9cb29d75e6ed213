#pragma once
#include <string>
#include <vector>

#include "recap/judged_frames.h"
#include "recap/report_curves.h"
#include "recap/report_numbers.h"
#include "report/html_page.h"

namespace flexor::recap {

// The parts of a RECAP run's page, in their order. Each says which command makes what it lacks.

/// The run in a few sentences and large figures.
void add_summary(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers,
                 const ReportCurves& curves);
/// A row for each dataset.
void add_data(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers);
/// Distributions of returns and values; V against G by frame and by episode; calibration.
void add_values(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers);
/// Distribution with the threshold; positive rates by dataset, task and part of an episode.
void add_advantages(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers);

/// A table with bars of the positive shares. @param what  "dataset", "task"
void add_positive_rates(report::HtmlPage& page, const std::string& what, const std::vector<PositiveRate>& rates,
                        bool is_steam);
/// How the labels were made, as far as the sidecars say it: look-ahead, range, quantile, value model.
void add_origins(report::HtmlPage& page, const JudgedRun& run);
/// "12.3 %", "-" for what is not finite.
std::string percent(double share);

/// A heading that links lead to.
void add_heading(report::HtmlPage& page, const std::string& id, const std::string& text);
/// A sentence about what is not there.
void add_missing(report::HtmlPage& page, const std::string& text);

}  // namespace flexor::recap
