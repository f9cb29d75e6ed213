#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/plan_report.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "dist/launch_env.h"
#include "recap/recap_config.h"
#include "recap/value_plan.h"
#include "train/policy_plan.h"
#include "train/run_folder.h"

namespace flexor::cli {
namespace {

struct PlanOptions {
  std::vector<std::string> config, overrides;
  std::string of = "train", memory;
  int64_t ranks = 0, ranks_per_node = 0;
  bool json = false;
};

void fields(config::FieldTable& table, PlanOptions& o) {
  table("config", o.config, "YAML file of the run; several as a,b: later ones win").value_name("FILE");
  table("of", o.of, "the training that the configuration is of: flexor train, or recap value")
      .choices({"train", "value"});
  table("memory", o.memory, "of a device or of the machine for one rank: 64GiB, 80GB; default: what is available now")
      .value_name("BYTES");
  table("ranks", o.ranks, "that train together; default: of the launcher, else 1").range(0, 1e6);
  table("ranks-per-node", o.ranks_per_node, "of --ranks; default: of the launcher, else all on one node").range(0, 1e6);
  table("json", o.json, "print one JSON object instead of text");
  table.rest("key=value", o.overrides, "keys of the configuration, over the file");
}

train::PlanReport policy_report(const config::Sources& sources, int64_t world, double memory, int64_t of_node) {
  const train::RunPlan plan = train::plan_run(sources, world);
  return train::report_policy_plan(plan.config, train::planned_policy(plan), world, memory, of_node);
}

int64_t ranks_of_node(const PlanOptions& options, int64_t world) {
  if (options.ranks_per_node == 0) {
    return options.ranks > 0 ? world : dist::launch_of_process().local_world;
  }
  if (world % options.ranks_per_node != 0) {
    throw Error(ErrorKind::kUsage,
                str_cat(world, world == 1 ? " rank does" : " ranks do", " not fill nodes of ", options.ranks_per_node),
                "--ranks-per-node", "nodes are of one size: --ranks is a multiple of it");
  }
  return options.ranks_per_node;
}

int run_plan(const Args& args, const Io& io) {
  const auto options = config::parse<PlanOptions>(args);
  const config::Sources sources{.files = options.config, .overrides = options.overrides};
  if (sources.files.empty() && sources.overrides.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to plan: no configuration was given", {},
                "flexor plan --config configs/pi05_base.yaml policy.path=DIR dataset.root=DIR output_dir=DIR");
  }
  const int64_t world = options.ranks > 0 ? options.ranks : dist::launch_of_process().world;
  const int64_t of_node = ranks_of_node(options, world);
  const double memory = options.memory.empty()
                            ? std::floor(static_cast<double>(available_memory_bytes()) / static_cast<double>(of_node))
                            : parse_bytes(options.memory, "--memory");
  set_log_level(LogLevel::kWarn);
  const train::PlanReport report =
      options.of == "value" ? recap::report_value_plan(recap::load_recap_config(sources, recap::Step::kValue).value,
                                                       world, memory, of_node)
                            : policy_report(sources, world, memory, of_node);
  if (options.json) {
    print_json(io.out, plan_json(report, memory), 2);
  } else {
    io.out << plan_text(report, memory);
  }
  if (memory > 0 && report.plan.total() > memory) {
    throw Error(ErrorKind::kRuntime,
                str_cat("a step needs ", human_bytes(report.plan.total()), " a rank, there are ", human_bytes(memory)),
                "flexor plan",
                report.largest_batch > 0 ? str_cat("batch_size=", report.largest_batch) : plan_hint(report, memory));
  }
  return 0;
}

}  // namespace

const Command kPlan{
    .path = "plan",
    .summary = "Predict the memory of a training, and the largest batch that fits.",
    .notes =
        "    flexor plan --config configs/pi05_base.yaml policy.path=/data/pi05_base dataset.root=/data/koch "
        "output_dir=runs/koch --memory 64GiB\n"
        "    flexor plan --config run.yaml parallel.strategy=zero3 --ranks 8 --memory 32GiB\n"
        "    flexor plan --config run.yaml parallel.strategy=hybrid --ranks 16 --ranks-per-node 8\n"
        "    flexor plan --of value --config configs/recap_tiny.yaml output_dir=runs/koch "
        "'data.train_data_paths=[{dataset_path: /data/koch, type: sft}]'\n\n"
        "Goes through a step without computing: weights, masters, moments, gradients, what autograd keeps, buffers of "
        "communication.\nWhat the program has before there is a model comes on top. Exit code 1 if the step does "
        "not "
        "fit; the table then says what would.\n",
    .usage = &config::usage<PlanOptions>,
    .run = &run_plan};

}  // namespace flexor::cli
