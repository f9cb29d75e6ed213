#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "cli/commands.h"
#include "cli/doctor_devices.h"
#include "cli/doctor_launch.h"
#include "cli/doctor_system.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "dist/launch_env.h"

namespace flexor::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> config, overrides;
  double timeout_s = 60;
  bool json = false;
};

void fields(config::FieldTable& table, DoctorOptions& o) {
  table("config", o.config, "of a training run: everything it checks before it starts; several as a,b")
      .value_name("FILE");
  table("timeout_s", o.timeout_s, "seconds to wait for the other ranks").range(1, 86400);
  table("json", o.json, "print one JSON object instead of text");
  table.rest("key=value", o.overrides, "keys of that run's configuration, over the file");
}

int run(const Args& args, const Io& io) {
  const auto options = config::parse<DoctorOptions>(args);
  const dist::Env env = dist::process_env();
  std::optional<dist::Launch> launch;
  std::vector<DoctorSection> sections = {program_section(),          devices_section(env), threads_section(),
                                         memory_section(),           disk_section(),       numerics_section(),
                                         launch_section(env, launch)};
  const bool is_rank = launch && launch->world > 1 && !(launch->is_node_level && launch->local_world > 1);
  if (is_rank) {
    sections.push_back(group_section(*launch, options.timeout_s));
  }
  if (is_rank && launch->rank != 0) {
    return 0;  // rank 0 speaks
  }
  if (!options.config.empty() || !options.overrides.empty()) {
    set_log_level(LogLevel::kWarn);
    sections.push_back(run_section({.files = options.config, .overrides = options.overrides},
                                   launch ? launch->world : 1, launch ? launch->local_world : 1));
  }
  if (options.json) {
    print_json(io.out, doctor_json(sections), 2);
  } else {
    io.out << doctor_text(sections);
  }
  if (const int64_t problems = count_problems(sections); problems > 0) {
    throw Error(ErrorKind::kRuntime, str_cat(problems, problems == 1 ? " problem" : " problems", " found"),
                "flexor doctor", "the report marks each with 'problem', and says what to do");
  }
  return 0;
}

}  // namespace

const Command kDoctor{
    .path = "doctor",
    .summary = "Look at devices, libraries, threads, memory and launch variables, and at what a run needs.",
    .notes =
        "    flexor doctor\n"
        "    flexor doctor --config run.yaml dataset.root=/data/koch output_dir=runs/koch\n"
        "    flexor launch --nproc 2 -- doctor\n\n"
        "With --config: configuration, files, dataset, tokenizer, memory and weights, as `flexor train` checks them, "
        "without starting. "
        "Under a launcher the\nranks meet and measure an all-reduce. Exit code 1 if something that a run needs does "
        "not work.\n",
    .usage = &config::usage<DoctorOptions>,
    .run = &run};

}  // namespace flexor::cli
