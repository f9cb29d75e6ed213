#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "curate/stats_diff.h"

namespace flexor::cli {
namespace {

using curate::FeatureDiff;

struct DatasetStatsDiffOptions {
  std::string a, b;
  double tolerance = 1e-6;
  bool json = false;
};

void fields(config::FieldTable& table, DatasetStatsDiffOptions& o) {
  table.positional("a", o.a, "dataset folder, stats.json or norm_stats.json");
  table.positional("b", o.b, "the other one");
  table("tolerance", o.tolerance,
        "largest difference that counts as equal, by the larger value and the dimension's std")
      .range(0, 1e9);
  table("json", o.json, "print one JSON object instead of text");
}

void print(std::ostream& out, const FeatureDiff& diff, double tolerance) {
  if (diff.presence != FeatureDiff::Presence::kBoth) {
    out << diff.feature << "  only in " << (diff.presence == FeatureDiff::Presence::kOnlyA ? "A" : "B") << '\n';
    return;
  }
  out << diff.feature << "  " << (diff.differs(tolerance) ? "differs" : "equal") << ", largest relative difference "
      << short_number(diff.largest(), 3) << '\n';
  for (const std::string& text : diff.missing) {
    out << "  " << text << '\n';
  }
  for (const FeatureDiff::Value& value : diff.dimensions) {
    if (value.relative > tolerance) {
      out << "  [" << value.dimension << "] " << value.stat << "  A " << short_number(value.a, 9) << "  B "
          << short_number(value.b, 9) << "  relative " << short_number(value.relative, 3) << '\n';
    }
  }
}

int run_dataset_stats_diff(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetStatsDiffOptions>(args);
  const std::vector<FeatureDiff> diffs =
      curate::stats_diff(curate::read_stats_of(options.a), curate::read_stats_of(options.b));
  const auto num_different =
      std::ranges::count_if(diffs, [&](const FeatureDiff& diff) { return diff.differs(options.tolerance); });
  if (options.json) {
    Json features = Json::array();
    for (const FeatureDiff& diff : diffs) {
      features.push_back(curate::to_json(diff, options.tolerance));
    }
    print_json(io.out, Json::object({{"a", options.a},
                                     {"b", options.b},
                                     {"tolerance", options.tolerance},
                                     {"equal", num_different == 0},
                                     {"features", features}}));
  } else {
    for (const FeatureDiff& diff : diffs) {
      print(io.out, diff, options.tolerance);
    }
  }
  if (num_different > 0) {
    throw Error(ErrorKind::kData,
                str_cat("the statistics differ in ", num_different, " of ", diffs.size(), " features"),
                str_cat(options.a, " and ", options.b));
  }
  return 0;
}

}  // namespace

const Command kDatasetStatsDiff{
    .path = "dataset stats diff",
    .summary = "Show where the statistics of two datasets or files differ.",
    .notes =
        "Exit code 0 when they are equal within the tolerance, 1 when they differ or cannot be read. A dimension's "
        "largest difference is shown, relative to the larger of the two values and of the dimension's std.\n",
    .usage = &config::usage<DatasetStatsDiffOptions>,
    .run = &run_dataset_stats_diff};

}  // namespace flexor::cli
