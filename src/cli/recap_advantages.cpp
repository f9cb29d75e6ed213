#include <ostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/recap_labels.h"
#include "cli/recap_options.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "recap/advantages_step.h"
#include "recap/steam_labels.h"

namespace flexor::cli {
namespace {

struct RecapAdvantagesOptions {
  RecapOptions common;
  std::string method;
};

void fields(config::FieldTable& table, RecapAdvantagesOptions& o) {
  table("method", o.method,
        "recap: N-step advantages of the value model; steam: scores of the ensemble; without: "
        "advantage.method");
  fields(table, o.common);
}

Json speed(const recap::AdvantagesResult& result) {
  const double seconds = result.seconds > 0 ? result.seconds : 1;
  return Json::object({{"return_min", result.range.min},
                       {"return_max", result.range.max},
                       {"judged", result.judged},
                       {"resumed", result.resumed},
                       {"seconds", result.seconds},
                       {"samples_per_s", result.samples_per_s()},
                       {"model_share", result.model_s / seconds},
                       {"data_wait_share", result.waited_s / seconds}});
}

void print_speed(std::ostream& out, const recap::AdvantagesResult& result) {
  out << result.judged << " frames judged in " << human_seconds(result.seconds) << " ("
      << short_number(result.samples_per_s()) << " frames/s)";
  if (result.seconds > 0) {
    out << ": model " << short_number(100 * result.model_s / result.seconds, 3) << " %, waiting for pictures "
        << short_number(100 * result.waited_s / result.seconds, 3) << " %";
  }
  if (result.resumed > 0) {
    out << "; " << result.resumed << " taken over from an interrupted run";
  }
  out << '\n';
}

int run_recap_advantages(const Args& args, const Io& io) {
  refuse_dashed_keys(args, {"config", "print", "json", "method"});
  auto options = config::parse<RecapAdvantagesOptions>(args);
  require_configuration(options.common, "flexor recap advantages --config configs/recap_tiny.yaml");
  if (!options.method.empty()) {
    options.common.overrides.push_back("advantage.method=" + options.method);
  }
  const recap::RecapConfig config = recap::load_recap_config(options.common.sources(), recap::Step::kAdvantages);
  if (options.common.print_config) {
    print_step(io.out, config.advantages);
    return 0;
  }
  set_threads(config.threads);
  const bool is_steam = config.advantages.advantage.method == "steam";
  const auto result = on_all_ranks(config, recap::Step::kAdvantages, [&config, is_steam](const auto& group) {
    return is_steam ? recap::run_steam_labels(config, group) : recap::run_advantages(config, group);
  });
  if (!result.is_main) {
    return 0;
  }
  print_labels(
      io.out,
      {.threshold = result.threshold, .by_task = result.by_task, .reports = result.reports, .more = speed(result)},
      options.common.json);
  if (!options.common.json) {
    print_speed(io.out, result);
  }
  return 0;
}

}  // namespace

const Command kRecapAdvantages{
    .path = "recap advantages",
    .summary = "RECAP, step 3: advantages and labels of every frame.",
    .notes =
        "    flexor recap advantages --config configs/recap_tiny.yaml\n"
        "    flexor recap advantages --config FILE advantage.value_checkpoint=DIR/global_step_3000\n\n"
        "Every dataset gets meta/advantages_TAG.parquet and meta/mixture_config.yaml. Each frame is judged once, while "
        "the "
        "next ones are\ndecoded; values are kept on the way, so that the same command goes on after it was stopped. "
        "`flexor recap relabel`\napplies another threshold or look-ahead with no model.\n",
    .usage = &config::usage<RecapAdvantagesOptions>,
    .run = &run_recap_advantages};

}  // namespace flexor::cli
