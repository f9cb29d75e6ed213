#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace flexor::curate {

/// One dimension of a feature over an episode, with what the dataset's statistics say about it (NaN: nothing).
struct Curve {
  std::string label;           ///< "state", "action", or the feature's name
  std::vector<double> values;  ///< one a frame
  int colour = 0;              ///< 0..5, as in report/svg_plot.h
  double mean, std, q01, q99;
};

/// Curves that are drawn into one plot.
struct CurvePlot {
  std::string title;  ///< name of the dimension
  std::vector<Curve> curves;
};

struct CurveGroup {
  std::string heading;
  std::vector<CurvePlot> plots;
  int64_t left_out = 0;  ///< dimensions beyond those that are drawn
};

/// Curves of all numeric features of the first episode that `dataset` holds, index columns left out. State and action
/// dimensions of the same name (or, without names, of the same place) share a plot when their scales allow it.
std::vector<CurveGroup> episode_curves(const data::Dataset& dataset);

/// Every `step`-th value from the first on, as float32.
std::vector<float> every(const std::vector<double>& values, int64_t step);

}  // namespace flexor::curate
