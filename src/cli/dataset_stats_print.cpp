#include "cli/dataset_stats_print.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "curate/dimension_notes.h"

namespace flexor::cli {
namespace {

constexpr std::array<std::string_view, 9> kShown = {"min", "q01", "q10", "q50", "q90", "q99", "max", "mean", "std"};

std::string row_name(const std::vector<std::string>& names, size_t size, size_t d) {
  return names.size() == size ? names[d] : size == 1 ? std::string() : str_cat(d);
}

void print_feature(std::ostream& out, const std::string& name, const std::vector<std::string>& names,
                   const schema::FeatureStats& stats) {
  constexpr size_t kWidth = 11;
  const auto pad = [](std::string text, size_t width) {
    text.insert(0, width > text.size() ? width - text.size() : 0, ' ');
    return text;
  };
  const size_t size = stats.at("min").size();
  size_t name_width = 0;
  for (size_t d = 0; d < size; ++d) {
    name_width = std::max(name_width, row_name(names, size, d).size());
  }
  out << name << "  (" << static_cast<int64_t>(stats.at("count")[0]) << ")\n" << std::string(name_width + 2, ' ');
  for (const std::string_view stat : kShown) {
    out << pad(std::string(stat), kWidth);
  }
  out << '\n';
  for (size_t d = 0; d < size; ++d) {
    std::string row = row_name(names, size, d);
    row.resize(name_width, ' ');
    out << "  " << row;
    for (const std::string_view stat : kShown) {
      out << pad(short_number(stats.at(stat)[d]), kWidth);
    }
    out << '\n';
  }
}

std::vector<std::string> names_of(const data::FeatureInfo& feature) {
  return feature.is_camera() ? std::vector<std::string>{"red", "green", "blue"} : feature.names;
}

void print_stats(std::ostream& out, const curate::StatsSource& source, const schema::NormStats& stats) {
  for (const auto* features : {&source.numeric, &source.cameras}) {
    for (const data::FeatureInfo& feature : *features) {
      if (const auto found = stats.find(feature.recorded_name); found != stats.end()) {
        print_feature(out, feature.recorded_name, names_of(feature), found->second);
      }
    }
  }
}

void print_norm_stats(std::ostream& out, const schema::NormStats& stats) {
  for (const auto& [name, feature] : stats) {
    out << name << "  (" << static_cast<int64_t>(feature.at("count")[0]) << ")\n";
    for (const char* stat : {"mean", "std", "q01", "q99"}) {
      out << "  " << stat;
      for (const double value : feature.at(stat)) {
        out << ' ' << short_number(value);
      }
      out << '\n';
    }
  }
}

}  // namespace

Json to_json(const curate::StatsSource& source, const StatsReport& report) {
  Json notes = Json::array(), findings = Json::array();
  for (const curate::DimensionNote& note : curate::dimension_notes(report.stats, source.numeric)) {
    notes.push_back(to_json(note));
  }
  for (const data::Finding& finding : source.findings) {
    findings.push_back(data::to_json(finding));
  }
  return Json::object({{"dataset", source.info.root},
                       {"version", source.info.version},
                       {"method", report.method},
                       {"episodes", source.num_episodes()},
                       {"frames", source.num_frames},
                       {"pictures", report.num_pictures},
                       {"left_alone", report.left_alone},
                       {"written", Json(report.written)},
                       {"stats", schema::to_json(report.stats)},
                       {"norm_stats", schema::to_json(report.norm_stats)},
                       {"notes", notes},
                       {"findings", findings}});
}

void print(std::ostream& out, const curate::StatsSource& source, const StatsReport& report) {
  if (report.left_alone) {
    out << "the statistics are complete and were left alone; --force computes them anew\n";
  }
  print_stats(out, source, report.stats);
  print_norm_stats(out, report.norm_stats);
  for (const std::string& line : curate::describe(curate::dimension_notes(report.stats, source.numeric))) {
    out << "note  " << line << '\n';
  }
  if (report.num_pictures > 0) {
    out << report.num_pictures << " pictures of " << source.num_episodes() << " episodes counted\n";
  }
  for (const std::string& file : report.written) {
    out << "written  " << file << '\n';
  }
}

}  // namespace flexor::cli
