#pragma once
#include <string>
#include <vector>

#include "report/html_page.h"
#include "report/run_files.h"

namespace flexor::recap {

/// A checkpoint of OUT/value or OUT/policy.
struct ReportCheckpoint {
  std::string path;  ///< "value/checkpoints/global_step_500"
  bool is_best = false, is_last = false;
};

/// What the two trainings of a run have logged; no curves where one has not run.
struct ReportCurves {
  report::RunFiles value, policy;
  std::vector<ReportCheckpoint> checkpoints;  ///< value's first, by step
};
/// @throws Error(kData) for a damaged metrics.jsonl
ReportCurves read_report_curves(const std::string& output_dir);

/// Plots of step 2's curves: loss, error, rank correlation, or the ensemble's accuracy.
void add_value_training(report::HtmlPage& page, const report::RunFiles& run);
/// Plots of step 4's curves: loss by route and by label, labels and routes of the batches.
void add_policy_training(report::HtmlPage& page, const report::RunFiles& run);

}  // namespace flexor::recap
