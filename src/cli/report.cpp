#include <ostream>

#include "cli/commands.h"
#include "config/command_line.h"
#include "report/run_report.h"

namespace flexor::cli {
namespace {

struct Options {
  std::string run_dir, output;
  bool json = false;
};

void fields(config::FieldTable& table, Options& o) {
  table.positional("run_dir", o.run_dir, "a training run's output_dir");
  table("output", o.output, "file to write; default: RUN_DIR/report.html").short_flag('o').value_name("FILE");
  table("json", o.json, "print one JSON object instead of text");
}

int run(const Args& args, const Io& io) {
  const auto options = config::parse<Options>(args);
  const std::string path = report::write_run_report(options.run_dir, options.output);
  io.out << (options.json ? Json::object({{"report", path}}).dump() : path) << '\n';
  return 0;
}

}  // namespace

const Command kReport{
    .path = "report",
    .summary = "Write the HTML page of a training run.",
    .notes =
        "One file without scripts or network: curves, checkpoints, configuration, evaluation and sample predictions "
        "where the run's\nfolder has them.\n",
    .usage = &config::usage<Options>,
    .run = &run};

}  // namespace flexor::cli
