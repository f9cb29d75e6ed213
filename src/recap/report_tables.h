#pragma once
#include <string>
#include <vector>

#include "recap/judged_frames.h"
#include "recap/report_curves.h"
#include "recap/report_numbers.h"

namespace flexor::recap {

/// A CSV file beside the report.
struct ReportTable {
  std::string file, holds;  ///< name; what a row is, for people
  std::string csv;
};

/// episodes.csv, positive_rates.csv, calibration.csv, histograms.csv, curves.csv; those without a row are left out.
std::vector<ReportTable> report_tables(const JudgedRun& run, const ReportNumbers& numbers, const ReportCurves& curves);

}  // namespace flexor::recap
