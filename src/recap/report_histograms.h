#pragma once
#include "recap/report_numbers.h"

namespace flexor::recap {

inline constexpr size_t kHistogramBins = 40;
inline constexpr size_t kCalibrationBins = 20;

/// Returns, V and scores. Of many scores (2000 and more) the bins span the middle 99 %, and the threshold.
void add_histograms(const JudgedRun& run, ReportNumbers& numbers);

/// Targets by V, in equally wide bins from the smallest to the largest V, at least over [-1, 0] (or [0, 1]).
void add_calibration(const JudgedRun& run, ReportNumbers& numbers);

/// Rank correlation, error and spread of V and targets over all frames.
void add_agreement(const JudgedRun& run, ReportNumbers& numbers);
/// Whether V tells successes from failures.
void add_separation(const JudgedRun& run, ReportNumbers& numbers);

}  // namespace flexor::recap
