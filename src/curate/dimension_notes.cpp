#include "curate/dimension_notes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::curate {
namespace {

using Kind = DimensionNote::Kind;

constexpr double kEps = 1e-8;             // LeRobot's
constexpr double kNearlyConstant = 1e-4;  // std by the largest value
constexpr double kSameQuantile = 1e-6;    // by the range: quantiles of histograms differ a little
constexpr double kLarge = 100;            // beyond this a normalised value is worth a warning

/// Values of one dimension by the statistic's name.
struct Dimension {
  const schema::FeatureStats& stats;
  size_t index;
  double operator[](std::string_view name) const { return stats.at(name)[index]; }
};

std::optional<Kind> kind_of(const Dimension& dim) {
  const double range = dim["max"] - dim["min"];
  if (range == 0) {
    return Kind::kConstant;
  }
  if (dim["q90"] - dim["q10"] <= kSameQuantile * range) {
    return Kind::kSparse;
  }
  if (dim["std"] <= kNearlyConstant * std::max(std::abs(dim["min"]), std::abs(dim["max"]))) {
    return Kind::kNearlyConstant;
  }
  return std::nullopt;
}

DimensionNote::Normalized by_range(std::string_view mode, const Dimension& dim, double low, double high) {
  const double range = high == low ? kEps : high - low;
  return {mode, 2 * (dim["min"] - low) / range - 1, 2 * (dim["max"] - low) / range - 1};
}

std::vector<DimensionNote::Normalized> normalized(const Dimension& dim) {
  const double scale = dim["std"] + kEps;
  return {{"MEAN_STD", (dim["min"] - dim["mean"]) / scale, (dim["max"] - dim["mean"]) / scale},
          by_range("MIN_MAX", dim, dim["min"], dim["max"]),
          by_range("QUANTILES", dim, dim["q01"], dim["q99"]),
          by_range("QUANTILE10", dim, dim["q10"], dim["q90"])};
}

/// "[4] (gripper)"
std::string note_place(const DimensionNote& note) {
  return str_cat("[", note.dimension, "]", note.name.empty() ? "" : " (" + note.name + ")");
}

std::string describe_spread(const DimensionNote& note) {
  std::string text = note.feature + note_place(note);
  text += note.kind == Kind::kSparse ? ": sparse, 80 % of the frames or more hold one value"
                                     : str_cat(": nearly constant, std ", short_number(note.std));
  std::vector<std::string> modes;
  for (const DimensionNote::Normalized& mode : note.normalized) {
    const bool is_large = std::max(std::abs(mode.min), std::abs(mode.max)) > kLarge;
    if (is_large || note.kind == Kind::kNearlyConstant) {
      modes.push_back(str_cat(mode.mode, " maps ", short_number(note.min), " .. ", short_number(note.max), " to ",
                              short_number(mode.min, 3), " .. ", short_number(mode.max, 3)));
    }
  }
  return modes.empty() ? text : str_cat(text, "; ", join_text(modes, ", "));
}

bool is_normalized(const data::FeatureInfo& feature) {
  return feature.dtype.starts_with("float") && feature.recorded_name != "timestamp";
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kConstant:
      return "constant";
    case Kind::kNearlyConstant:
      return "nearly_constant";
    default:
      return "sparse";
  }
}

std::vector<DimensionNote> dimension_notes(const schema::NormStats& stats,
                                           const std::vector<data::FeatureInfo>& features) {
  std::vector<DimensionNote> notes;
  for (const data::FeatureInfo& feature : features) {
    const auto found = stats.find(feature.recorded_name);
    if (!is_normalized(feature) || found == stats.end() || !found->second.has("q10")) {
      continue;
    }
    const size_t size = found->second.at("min").size();
    for (size_t d = 0; d < size; ++d) {
      const Dimension dim{found->second, d};
      if (const std::optional<Kind> kind = kind_of(dim)) {
        notes.push_back({feature.recorded_name, static_cast<int64_t>(d),
                         feature.names.size() == size ? feature.names[d] : std::string(), *kind, dim["min"], dim["max"],
                         dim["std"], normalized(dim)});
      }
    }
  }
  return notes;
}

Json to_json(const DimensionNote& note) {
  Json modes = Json::object();
  for (const DimensionNote::Normalized& mode : note.normalized) {
    modes[mode.mode] = Json(std::vector<double>{mode.min, mode.max});
  }
  return Json::object({{"feature", note.feature},
                       {"dimension", note.dimension},
                       {"name", note.name.empty() ? Json() : Json(note.name)},
                       {"kind", kind_name(note.kind)},
                       {"min", note.min},
                       {"max", note.max},
                       {"std", note.std},
                       {"normalized", modes}});
}

std::vector<std::string> describe(const std::vector<DimensionNote>& notes) {
  std::vector<std::string> lines;
  std::map<std::string, std::vector<std::string>> constant;
  for (const DimensionNote& note : notes) {
    if (note.kind == Kind::kConstant) {
      constant[note.feature].push_back(str_cat(note_place(note), " = ", short_number(note.min)));
    }
  }
  for (const auto& [feature, dims] : constant) {
    lines.push_back(str_cat(feature, ": constant dimensions ", join_text(dims, ", "),
                            "; MEAN_STD makes them 0, the other modes -1, and all multiply any later deviation by 1e8 "
                            "or more"));
  }
  for (const DimensionNote& note : notes) {
    if (note.kind != Kind::kConstant) {
      lines.push_back(describe_spread(note));
    }
  }
  return lines;
}

}  // namespace flexor::curate
