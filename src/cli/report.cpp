#include <ostream>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "recap/recap_report.h"
#include "report/run_report.h"

namespace flexor::cli {
namespace {

struct ReportOptions {
  std::string run_dir, output, tag;
  std::vector<std::string> episodes;
  bool json = false;
};

void fields(config::FieldTable& table, ReportOptions& o) {
  table.positional("run_dir", o.run_dir, "output_dir of a training run or of a RECAP run");
  table("output", o.output, "file to write; default: RUN_DIR/report.html").short_flag('o').value_name("FILE");
  table("tag", o.tag, "RECAP: tag of the advantages; default: the run's own");
  table("episodes", o.episodes, "RECAP: episodes to show besides those chosen by rule, as DATASET/EPISODE,...")
      .value_name("LIST");
  table("json", o.json, "print one JSON object instead of text");
}

std::string write_report(const ReportOptions& options) {
  if (recap::is_recap_run(options.run_dir)) {
    return recap::write_recap_report(recap::config_of_run(options.run_dir, options.tag),
                                     {.output = options.output, .episodes = options.episodes});
  }
  if (!options.tag.empty() || !options.episodes.empty()) {
    throw Error(ErrorKind::kUsage, "--tag and --episodes are for RECAP runs, and the folder is none", options.run_dir,
                "a RECAP run's output_dir has the folder value or policy");
  }
  return report::write_run_report(options.run_dir, options.output);
}

int run_report(const Args& args, const Io& io) {
  const auto options = config::parse<ReportOptions>(args);
  install_interrupt_handlers();
  const std::string path = write_report(options);
  if (options.json) {
    print_json(io.out, Json::object({{"report", path}}));
  } else {
    io.out << path << '\n';
  }
  return 0;
}

}  // namespace

const Command kReport{
    .path = "report",
    .summary = "Write the HTML page of a training run or of a RECAP run.",
    .notes =
        "One file that needs no network. Of a training run: curves, checkpoints, configuration, evaluation and sample "
        "predictions\nwhere the run's folder has them. Of a RECAP run: outcomes, returns, values, advantages and "
        "labels, episodes under their\npictures, curves of both trainings, and the numbers as CSV files beside the "
        "page.\n\n    flexor report runs/recap --episodes attempts/3,attempts/17\n",
    .usage = &config::usage<ReportOptions>,
    .run = &run_report,
    .for_rank_zero = true};

}  // namespace flexor::cli
