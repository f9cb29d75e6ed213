#include "curate/episode_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "schema/policy_feature.h"

namespace flexor::curate {
namespace {

constexpr int64_t kMostDims = 256;      // of state or action
constexpr int64_t kMostOtherDims = 32;  // of any other feature
constexpr int kStateColour = 0, kActionColour = 1, kOtherColour = 2;

double stat(const data::Dataset& dataset, const std::string& feature, std::string_view name, int64_t dim) {
  const auto found = dataset.stats().find(feature);
  if (found == dataset.stats().end() || !found->second.has(name)) {
    return std::nan("");
  }
  const std::vector<double>& values = found->second.at(name);
  return static_cast<size_t>(dim) < values.size() ? values[static_cast<size_t>(dim)] : std::nan("");
}

/// All dimensions of a feature, at most `most`.
std::vector<Curve> curves_of(const data::Dataset& dataset, const std::string& feature, const std::string& label,
                             int colour, int64_t most) {
  const data::Column& column = dataset.column(feature);
  std::vector<Curve> curves;
  for (int64_t dim = 0; dim < std::min(most, column.width); ++dim) {
    Curve curve{label, {}, colour, 0, 0, 0, 0};
    for (int64_t frame = 0; frame < dataset.episode(0).length; ++frame) {
      curve.values.push_back(column.at(dataset.first_row(0) + frame, dim));
    }
    curve.mean = stat(dataset, feature, "mean", dim);
    curve.std = stat(dataset, feature, "std", dim);
    curve.q01 = stat(dataset, feature, "q01", dim);
    curve.q99 = stat(dataset, feature, "q99", dim);
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::vector<std::string> names_of(const data::FeatureInfo& feature, int64_t width, const std::string& label) {
  std::vector<std::string> names;
  const bool has_names = static_cast<int64_t>(feature.names.size()) == width;
  for (int64_t dim = 0; dim < width; ++dim) {
    const std::string numbered = width == 1 ? label : str_cat(label, " ", dim);
    names.push_back(has_names ? to_utf8(feature.names[static_cast<size_t>(dim)]) : numbered);
  }
  return names;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  double size() const { return std::max(0.0, high - low); }
};

Range range_of(const Curve& curve) {
  Range range;
  for (const double value : curve.values) {
    if (std::isfinite(value)) {
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return range;
}

/// False if one of the two would be a flat line in a common plot: an action that is a velocity or a difference.
bool fit_together(const Curve& a, const Curve& b) {
  constexpr double kMost = 6.0;
  const Range first = range_of(a), second = range_of(b);
  const double both = std::max(first.high, second.high) - std::min(first.low, second.low);
  const double larger = std::max(first.size(), second.size());
  const double smaller = std::min(first.size(), second.size());
  return both <= kMost * std::max(smaller, larger / kMost) || !std::isfinite(both);
}

struct Feature {
  std::vector<Curve> curves;
  std::vector<std::string> names;
  int64_t width = 0;
};

Feature read_feature(const data::Dataset& dataset, std::string_view key, const std::string& label, int colour) {
  Feature feature;
  if (dataset.has_column(key)) {
    feature.width = dataset.width(key);
    feature.curves = curves_of(dataset, std::string(key), label, colour, kMostDims);
    feature.names = names_of(dataset.feature(key), feature.width, label);
    feature.names.resize(feature.curves.size());
  }
  return feature;
}

/// Place of the action that belongs to a dimension of the state; -1: none.
int64_t partner(const Feature& state, const Feature& action, size_t dim) {
  const auto named = std::find(action.names.begin(), action.names.end(), state.names[dim]);
  if (named != action.names.end()) {
    return named - action.names.begin();
  }
  const bool both_numbered = state.names[dim] == str_cat("state ", dim) && state.width == action.width &&
                             action.names[dim] == str_cat("action ", dim);
  return both_numbered ? static_cast<int64_t>(dim) : -1;
}

CurveGroup state_and_action(const data::Dataset& dataset) {
  CurveGroup group{"State and action", {}, 0};
  Feature state = read_feature(dataset, schema::kStateKey, "state", kStateColour);
  Feature action = read_feature(dataset, schema::kActionKey, "action", kActionColour);
  group.left_out = state.width + action.width - static_cast<int64_t>(state.curves.size() + action.curves.size());
  std::vector<bool> drawn(action.curves.size());
  for (size_t dim = 0; dim < state.curves.size(); ++dim) {
    CurvePlot plot{state.names[dim], {std::move(state.curves[dim])}};
    const int64_t other = partner(state, action, dim);
    if (other >= 0 && !drawn[static_cast<size_t>(other)]) {
      const auto place = static_cast<size_t>(other);
      drawn[place] = true;
      if (fit_together(plot.curves[0], action.curves[place])) {
        plot.title = action.names[place] == plot.title ? plot.title : str_cat("dimension ", dim);
        plot.curves.push_back(std::move(action.curves[place]));
      } else {
        group.plots.push_back(std::move(plot));
        plot = {action.names[place], {std::move(action.curves[place])}};
      }
    }
    group.plots.push_back(std::move(plot));
  }
  for (size_t dim = 0; dim < action.curves.size(); ++dim) {
    if (!drawn[dim]) {
      group.plots.push_back({action.names[dim], {std::move(action.curves[dim])}});
    }
  }
  return group;
}

bool is_index(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"timestamp", "frame_index", "episode_index", "index",
                                                      "task_index"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

std::vector<CurveGroup> episode_curves(const data::Dataset& dataset) {
  std::vector<CurveGroup> groups = {state_and_action(dataset)};
  CurveGroup others{"Other features", {}, 0};
  for (const data::FeatureInfo& feature : dataset.info().features) {
    if (!dataset.has_column(feature.name) || is_index(feature.name) || feature.name == schema::kStateKey ||
        feature.name == schema::kActionKey) {
      continue;
    }
    const std::string label = to_utf8(feature.name);
    std::vector<Curve> curves = curves_of(dataset, feature.name, label, kOtherColour, kMostOtherDims);
    const std::vector<std::string> names = names_of(feature, dataset.width(feature.name), label);
    for (size_t dim = 0; dim < curves.size(); ++dim) {
      const bool is_named = names[dim].starts_with(label);
      others.plots.push_back({is_named ? names[dim] : str_cat(label, ": ", names[dim]), {std::move(curves[dim])}});
    }
    others.left_out += dataset.width(feature.name) - static_cast<int64_t>(curves.size());
  }
  if (!others.plots.empty()) {
    groups.push_back(std::move(others));
  }
  return groups;
}

std::vector<float> every(const std::vector<double>& values, int64_t step) {
  std::vector<float> some;
  for (size_t i = 0; i < values.size(); i += static_cast<size_t>(step)) {
    some.push_back(static_cast<float>(values[i]));
  }
  return some;
}

}  // namespace flexor::curate
