#include "train/train.h"

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "cli/commands.h"
#include "config/command_line.h"
#include "config/print.h"
#include "report/run_report.h"

namespace flexor::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> config, overrides;
  bool print_config = false;
};

void fields(config::FieldTable& table, TrainOptions& o) {
  table("config", o.config, "YAML file, as those in configs/; several as a,b: later ones win").value_name("FILE");
  table("print_config", o.print_config, "print the resolved configuration and do nothing");
  table.rest("key=value", o.overrides, "any key of the configuration, over the file: steps=1000 optimizer.lr=1e-5");
}

/// LeRobot's scripts write --steps=10 for what is steps=10 here.
void refuse_dashed_keys(const Args& args) {
  for (const std::string& arg : args) {
    const bool is_ours = arg.starts_with("--config") || arg.starts_with("--print");
    if (arg.starts_with("--") && arg.find('=') != std::string::npos && !is_ours) {
      throw Error(ErrorKind::kUsage, str_cat("unknown flag '", arg, "'"), {},
                  str_cat("keys of the configuration are given without dashes: ", arg.substr(2)));
    }
  }
}

int run_train(const Args& args, const Io& io) {
  refuse_dashed_keys(args);
  const auto options = config::parse<TrainOptions>(args);
  const config::Sources sources{.files = options.config, .overrides = options.overrides};
  if (sources.files.empty() && sources.overrides.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to train: no configuration was given", {},
                "flexor train --config configs/pi05_tiny.yaml dataset.root=DIR output_dir=DIR");
  }
  if (options.print_config) {
    io.out << config::print(train::load_train_config(sources, /*world=*/1));
    return 0;
  }
  const train::RunResult result = train::run(sources);  // prints the closing lines itself: they end stdout
  if (!result.is_main) {
    return 0;
  }
  try {
    log_info("report written", {{"file", report::write_run_report(result.output_dir)}});
  } catch (const Error& error) {  // the run itself is whole
    log_warn("no report", {{"reason", error.what()}, {"where", error.where()}});
  }
  return 0;
}

}  // namespace

const Command kTrain{
    .path = "train",
    .summary = "Fine-tune pi0 or pi0.5, or train a small policy from scratch.",
    .notes =
        "    flexor train --config configs/pi05_tiny.yaml dataset.root=/data/koch output_dir=runs/koch\n"
        "    flexor train --config configs/pi05_base.yaml dataset.root=/data/koch policy.path=/data/pi05_base "
        "output_dir=runs/koch\n    flexor train ... resume=true\n\n"
        "The run's folder gets config.yaml, metrics.jsonl, TensorBoard events, report.html, and checkpoints whose "
        "pretrained_model "
        "LeRobot loads.\nCtrl-C or SIGTERM finishes the step and saves a checkpoint. `flexor help config` lists the "
        "keys.\n",
    .usage = &config::usage<TrainOptions>,
    .run = &run_train};

}  // namespace flexor::cli
