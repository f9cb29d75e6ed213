#include <ostream>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/rank_zero.h"
#include "cli/recap_options.h"
#include "cli/recap_training.h"
#include "config/command_line.h"
#include "config/print.h"
#include "recap/steam_step.h"
#include "recap/value_step.h"

namespace flexor::cli {
namespace {

struct RecapValueOptions {
  RecapOptions recap;
  std::string method;
  std::vector<std::string> merge;
};

void fields(config::FieldTable& table, RecapValueOptions& o) {
  fields(table, o.recap);
  table("method", o.method, "recap: the value model; steam: the ensemble; default: what actor.model.model_type says")
      .choices({"recap", "steam"});
  table("merge", o.merge, "with steam: join the members of these checkpoints into output_dir instead of training")
      .value_name("DIR");
}

/// `--merge A B`: arguments without "=" are further folders.
void take_folders(RecapValueOptions& o) {
  if (o.merge.empty()) {
    return;
  }
  std::vector<std::string> keys;
  for (const std::string& argument : o.recap.overrides) {
    (argument.find('=') == std::string::npos ? o.merge : keys).push_back(argument);
  }
  o.recap.overrides = keys;
}

int run_recap_value(const Args& args, const Io& io) {
  refuse_dashed_keys(args, {"config", "print", "json", "method", "merge"});
  auto o = config::parse<RecapValueOptions>(args);
  take_folders(o);
  if (!o.merge.empty()) {
    if (o.method != "steam") {
      throw Error(ErrorKind::kUsage, "--merge joins the members of ensembles", {},
                  "--method steam --merge A B output_dir=DIR");
    }
    if (is_left_to_rank_zero("recap value --merge")) {
      return 0;
    }
    io.out << recap::merge_steam(o.merge, o.recap.sources()) << '\n';
    return 0;
  }
  if (o.recap.config.empty() && o.recap.overrides.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to do: no configuration was given", {},
                "flexor recap value --config configs/recap_tiny.yaml");
  }
  const recap::RecapConfig config = recap::load_recap_config(o.recap.sources(), recap::Step::kValue);
  if (o.recap.print_config) {
    io.out << config::print(config.value);
    return 0;
  }
  const bool is_steam =
      o.method.empty() ? config.value.actor.model.model_type == "steam_value_model" : o.method == "steam";
  const auto report = on_all_ranks(config, recap::Step::kValue, [&config, is_steam](const auto& group) {
    return is_steam ? recap::train_steam(config, group) : recap::train_value(config, group);
  });
  if (!report.is_main) {
    return 0;
  }
  if (o.recap.json) {
    print_json(io.out, to_json(report), 2);
  } else {
    print_report(io.out, report, {"loss", "value_mae", "value_spearman", "value_spearman_tied"});
  }
  return 0;
}

}  // namespace

const Command kRecapValue{
    .path = "recap value",
    .summary = "RECAP, step 2: train the value model on the returns.",
    .notes =
        "    flexor recap value --config configs/recap_tiny.yaml\n"
        "    flexor recap value --config FILE value.runner.resume_dir=auto\n"
        "    flexor recap value --config FILE --method steam\n\n"
        "OUT/value gets config.yaml, metrics.jsonl, TensorBoard events and checkpoints/global_step_N; the links last "
        "and best "
        "name two\nof them. Weights start from SigLIP2 and Gemma3 folders of Hugging Face, from a checkpoint (RLinf's "
        "full_weights.pt too), or\nfrom nothing with actor.model.architecture. Ctrl-C or SIGTERM finishes the step and "
        "saves "
        "a checkpoint.\n",
    .usage = &config::usage<RecapValueOptions>,
    .run = &run_recap_value};

}  // namespace flexor::cli
