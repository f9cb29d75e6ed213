#pragma once
#include <string>
#include <vector>

#include "recap/recap_config.h"

namespace flexor::recap {

struct RecapReportOptions {
  std::string output = {};                 ///< page; "" = OUT/report.html. The CSV files stand beside it
  std::vector<std::string> episodes = {};  ///< shown besides those chosen by rule: "DATASET/EPISODE" or "EPISODE"
};

/// The page of a RECAP run, OUT/report.html, and its numbers as CSV files beside it: data and outcomes, returns and
/// values, V against G, calibration, advantages with their threshold, positive rates, episodes over time under their
/// pictures, and the curves of both trainings. It opens without a network. What a step has not made yet is left out
/// with a sentence that says which command makes it. Sidecars are read from the training datasets of step 3.
/// @return the page's path
/// @throws Error(kFile), Error(kData) for data that are missing or damaged; Error(kConfig) for unknown episodes
std::string write_recap_report(const RecapConfig& config, const RecapReportOptions& options = {});

/// Whether a folder is the output_dir of a RECAP run.
bool is_recap_run(const std::string& folder);

/// The configuration that a run has left in its folder: OUT/config.yaml of `recap run`, else those of its steps.
/// @param tag  of the advantages to report, "" for the run's own
/// @throws Error(kFile), Error(kConfig)
RecapConfig config_of_run(const std::string& folder, const std::string& tag = {});

}  // namespace flexor::recap
