#pragma once
#include <string>

#include "report/run_files.h"

namespace flexor::report {

/// The page of one training run: figures, curves, evaluation, sample predictions, checkpoints, configuration,
/// environment.
std::string run_page(const RunFiles& run);

/// Reads a run's folder and writes the page. @param out_html  file; "" = RUN_DIR/report.html
/// @return the file's path. @throws Error(kFile, kData) as read_run
std::string write_run_report(const std::string& run_dir, const std::string& out_html = "");

}  // namespace flexor::report
