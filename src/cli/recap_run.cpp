#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <iterator>
#include <ostream>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/recap_options.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "dist/choose_device.h"
#include "recap/ranks.h"
#include "recap/recap_report.h"
#include "recap/run.h"
#include "recap/run_step.h"
#include "train/ranks.h"

namespace flexor::cli {
namespace {

using recap::Step;
using recap::StepRow;

struct RecapRunOptions {
  RecapOptions common;
  Step from = Step::kReturns, to = Step::kPolicy;
  bool force = false;
};

std::vector<std::pair<std::string, Step>> step_names() {
  std::vector<std::pair<std::string, Step>> names;
  for (const Step step : recap::kSteps) {
    names.emplace_back(recap::step_name(step), step);
  }
  return names;
}

void fields(config::FieldTable& table, RecapRunOptions& o) {
  table.enumeration("from", o.from, step_names(), "first step to look at; those before it must be up to date");
  table.enumeration("to", o.to, step_names(), "last step to look at");
  table("force", o.force, "run every step from its start, whether or not something changed");
  fields(table, o.common);
}

Json row_json(const StepRow& row) {
  return Json::object({{"step", recap::step_name(row.step)},
                       {"result", row.result},
                       {"why", row.why.empty() ? Json() : Json(row.why)},
                       {"seconds", row.seconds},
                       {"made", row.made}});
}

/// What the run ends with, over its last training.
struct Closing {
  double samples_per_s = 0, loss = 0, seconds = 0;
  bool has_training = false;
};

Closing closing_of(const std::vector<StepRow>& rows, double seconds) {
  Closing closing{.seconds = seconds};
  for (const StepRow& row : rows) {
    if (const Json* loss = row.made.find("final_loss")) {
      closing.loss = loss->as_double();
      closing.samples_per_s = row.made.at("samples_per_s").as_double();
      closing.has_training = true;
    }
  }
  return closing;
}

std::string number(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

void print_rows(std::ostream& out, const std::vector<StepRow>& rows) {
  constexpr int kStep = 12, kResult = 15, kSeconds = 9;
  size_t width = 3;
  for (const StepRow& row : rows) {
    width = std::max(width, row.why.size());
  }
  const int why = static_cast<int>(width) + 2;
  out << std::left << std::setw(kStep) << "step" << std::setw(kResult) << "result" << std::right << std::setw(kSeconds)
      << "seconds" << "  " << std::left << std::setw(why) << "why" << "made\n";
  for (const StepRow& row : rows) {
    const bool has_run = row.seconds > 0;
    out << std::left << std::setw(kStep) << recap::step_name(row.step) << std::setw(kResult) << row.result << std::right
        << std::setw(kSeconds) << (has_run ? number("%.1f", row.seconds) : "-") << "  " << std::left << std::setw(why)
        << (row.why.empty() ? "-" : row.why) << (row.made.is_null() ? "-" : recap::shown_result(row.step, row.made))
        << '\n';
  }
}

void print_closing(std::ostream& out, const Closing& closing) {
  if (closing.has_training) {
    out << "Final Performance images/sec : " << number("%.2f", closing.samples_per_s) << '\n'
        << "Final Train Loss : " << number("%.6f", closing.loss) << '\n';
  }
  out << "E2E Training Duration sec : " << number("%.1f", closing.seconds) << '\n';
}

/// The page of the run, if a step made something new. The steps themselves are done: without a page a warning is
/// enough.
std::string report_of(const recap::RecapConfig& config, const std::vector<StepRow>& rows) {
  const std::string path = config.output_dir + "/report.html";
  const bool is_new = std::any_of(rows.begin(), rows.end(), [](const StepRow& row) { return row.seconds > 0; });
  if (!is_new && std::filesystem::exists(path)) {
    return path;
  }
  try {
    return recap::write_recap_report(config);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
      throw;
    }
    log_warn("no report", {{"reason", error.what()}, {"where", error.where()}});
    return {};
  }
}

void print_run_json(std::ostream& out, const std::string& output_dir, const std::vector<StepRow>& rows,
                    const std::string& report, const Closing& closing) {
  Json steps = Json::array();
  for (const StepRow& row : rows) {
    steps.push_back(row_json(row));
  }
  print_json(out,
             Json::object({{"output_dir", output_dir},
                           {"steps", steps},
                           {"report", report.empty() ? Json() : Json(report)},
                           {"seconds", closing.seconds}}),
             2);
}

std::vector<Step> steps_of(const RecapRunOptions& o) {
  std::vector<Step> steps;
  std::ranges::copy_if(recap::kSteps, std::back_inserter(steps), [&o](Step s) { return s >= o.from && s <= o.to; });
  return steps;
}

/// @return nothing on ranks that only help
std::vector<StepRow> run_steps(const recap::RecapConfig& config, const RecapRunOptions& o,
                               const std::shared_ptr<dist::Group>& group) {
  if (!group->is_main()) {
    recap::help_with_run(config, group);
    return {};
  }
  return recap::RecapRun(config, {.from = o.from, .to = o.to, .force = o.force, .group = group}).run();
}

int run_recap_run(const Args& args, const Io& io) {
  refuse_dashed_keys(args, {"config", "print", "json", "from", "to", "force"});
  const auto o = config::parse<RecapRunOptions>(args);
  require_configuration(o.common, "flexor recap run --config configs/recap_tiny.yaml output_dir=DIR");
  if (o.from > o.to) {
    throw Error(ErrorKind::kUsage,
                str_cat("--from ", recap::step_name(o.from), " comes after --to ", recap::step_name(o.to)), {},
                "the steps are returns, value, advantages, policy");
  }
  const recap::RecapConfig config = recap::load_recap_config(o.common.sources(), std::nullopt);
  if (o.common.print_config) {
    io.out << config::print(config);
    return 0;
  }
  set_threads(config.threads);
  if (o.to > Step::kReturns) {
    dist::choose_device(config.device);  // before the first step
  }
  const double start = wall_seconds();
  const auto group = recap::meet_ranks(config, steps_of(o));
  const std::vector<StepRow> rows = train::with_ranks(*group, [&] { return run_steps(config, o, group); });
  if (!group->is_main()) {
    return 0;
  }
  const std::string report = report_of(config, rows);
  const Closing closing = closing_of(rows, wall_seconds() - start);
  if (o.common.json) {
    print_run_json(io.out, config.output_dir, rows, report, closing);
    return 0;
  }
  print_rows(io.out, rows);
  if (!report.empty()) {
    io.out << "report " << report << '\n';
  }
  print_closing(io.out, closing);
  return 0;
}

}  // namespace

const Command kRecapRun{
    .path = "recap run",
    .summary = "RECAP, all steps: returns, value model, advantages, policy.",
    .notes =
        "    flexor recap run --config configs/recap_tiny.yaml output_dir=runs/recap\n"
        "    flexor recap run --config FILE --from advantages data.advantage_lookahead_step=20\n\n"
        "A step is skipped when its settings, its input files and what it wrote are what they were; one that was "
        "stopped goes "
        "on where it\nwas. Everything that can be checked is checked before the first step. OUT/recap_run.json holds "
        "what is known of "
        "the steps.\n",
    .usage = &config::usage<RecapRunOptions>,
    .run = &run_recap_run};

}  // namespace flexor::cli
