#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/html_page.h"

namespace flexor::report {

/// Large figures of a page: (name, value).
using Figures = std::vector<std::pair<std::string, std::string>>;
/// Adds a number with `digits` significant digits; one that is not finite is left out.
void add_figure(Figures& figures, const std::string& name, double value, int digits = 4);

/// Plots of an evaluation (the object of eval.json): error per joint, per horizon step, the two baselines.
void add_evaluation(HtmlPage& page, const Json& evaluation);

/// Predicted against recorded actions: {names: [A], samples: [{episode, frame, predicted: [T][A], recorded: [T][A]}]}.
/// The first four samples, eight values each.
void add_samples(HtmlPage& page, const Json& samples);

}  // namespace flexor::report
