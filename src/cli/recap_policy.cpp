#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/recap_options.h"
#include "cli/recap_training.h"
#include "config/command_line.h"
#include "recap/policy_step.h"

namespace flexor::cli {
namespace {

int run_recap_policy(const Args& args, const Io& io) {
  const RecapOptions options = parse_recap_options(args, "flexor recap policy --config configs/recap_tiny.yaml");
  const recap::RecapConfig config = recap::load_recap_config(options.sources(), recap::Step::kPolicy);
  if (options.print_config) {
    print_step(io.out, config.policy);
    return 0;
  }
  const auto report = on_all_ranks(config, recap::Step::kPolicy,
                                   [&config](const auto& group) { return recap::train_policy(config, group); });
  if (!report.is_main) {
    return 0;
  }
  if (options.json) {
    print_json(io.out, to_json(report), 2);
  } else {
    print_report(io.out, report, {"loss", "positive_loss", "negative_loss", "unconditional_loss"});
  }
  return 0;
}

}  // namespace

const Command kRecapPolicy{
    .path = "recap policy",
    .summary = "RECAP, step 4: train pi0 or pi0.5 with the label in the prompt.",
    .notes =
        "    flexor recap policy --config configs/recap_tiny.yaml\n"
        "    flexor recap policy --config FILE actor.model.model_path=DIR actor.model.openpi.config_name=auto\n"
        "    flexor recap policy --config FILE policy.runner.resume_dir=auto\n\n"
        "OUT/policy gets config.yaml, metrics.jsonl, TensorBoard events and checkpoints/global_step_N with a folder\n"
        "pretrained_model, which LeRobot, `flexor eval` and `flexor predict` open; the links last and best name two of "
        "them.\nWeights start from a policy folder of LeRobot or openpi, from RLinf's full_weights.pt, or from nothing "
        "with\nactor.model.architecture. Ctrl-C or SIGTERM finishes the step and saves a checkpoint.\n",
    .usage = &config::usage<RecapOptions>,
    .run = &run_recap_policy};

}  // namespace flexor::cli
