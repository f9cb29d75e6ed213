#include <algorithm>
#include <iomanip>
#include <ostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/recap_options.h"
#include "config/command_line.h"
#include "recap/returns_step.h"

namespace flexor::cli {
namespace {

Json reports_json(const std::vector<recap::ReturnsReport>& reports) {
  Json datasets = Json::array();
  for (const recap::ReturnsReport& report : reports) {
    datasets.push_back(Json::object({{"name", report.name},
                                     {"type", report.type},
                                     {"file", report.sidecar},
                                     {"episodes", report.episodes},
                                     {"successes", report.successes},
                                     {"frames", report.frames},
                                     {"return", report.return_stats},
                                     {"reward", report.reward_stats}}));
  }
  return Json::object({{"datasets", datasets}});
}

void print(std::ostream& out, const std::vector<recap::ReturnsReport>& reports) {
  size_t width = 7;
  for (const recap::ReturnsReport& report : reports) {
    width = std::max(width, report.name.size());
  }
  const int name_width = static_cast<int>(width) + 2;
  out << std::left << std::setw(name_width) << "dataset" << std::setw(9) << "type" << std::right << std::setw(9)
      << "episodes" << std::setw(11) << "successes" << std::setw(10) << "frames" << std::setw(12) << "return min"
      << std::setw(8) << "max" << std::setw(10) << "mean" << '\n';
  for (const recap::ReturnsReport& report : reports) {
    const auto stat = [&](const char* name) { return short_number(report.return_stats.at(name).as_double(), 6); };
    out << std::left << std::setw(name_width) << report.name << std::setw(9) << report.type << std::right
        << std::setw(9) << report.episodes << std::setw(11) << report.successes << std::setw(10) << report.frames
        << std::setw(12) << stat("min") << std::setw(8) << stat("max") << std::setw(10) << stat("mean") << '\n';
  }
}

int run_recap_returns(const Args& args, const Io& io) {
  const RecapOptions options = parse_recap_options(args, "flexor recap returns --config configs/recap_tiny.yaml");
  const recap::RecapConfig config = recap::load_recap_config(options.sources(), recap::Step::kReturns);
  if (options.print_config) {
    print_step(io.out, config.returns);
    return 0;
  }
  const std::vector<recap::ReturnsReport> reports = recap::compute_returns(config);
  if (options.json) {
    print_json(io.out, reports_json(reports), 2);
  } else {
    print(io.out, reports);
  }
  return 0;
}

}  // namespace

const Command kRecapReturns{
    .path = "recap returns",
    .summary = "RECAP, step 1: rewards and returns of every frame.",
    .notes =
        "    flexor recap returns --config configs/recap_tiny.yaml\n"
        "    flexor recap returns data.dataset_path=/data/libero_sft tag=fail300 data.failure_reward=-300\n\n"
        "Every dataset gets meta/returns_TAG.parquet (episode_index, frame_index, return, reward, prompt); "
        "meta/stats.json gets "
        "the\nstatistics of return and reward, meta/info.json their features. A step costs -1; the last step of a "
        "success "
        "0, of a failure\nfailure_reward. The outcome of an episode is the column is_success, the same key of the "
        "episodes' metadata, or a list in the\nconfiguration; type: sft means that every episode is a success.\n",
    .usage = &config::usage<RecapOptions>,
    .run = &run_recap_returns,
    .for_rank_zero = true};

}  // namespace flexor::cli
