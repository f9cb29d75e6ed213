#include "cli/plan_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::cli {
namespace {

using models::MemoryUse;

struct Row {
  std::string name;
  double bytes;
  std::string note = {};
};

std::string table_of(const std::vector<Row>& rows) {
  size_t width = 0;
  for (const Row& row : rows) {
    width = std::max(width, row.name.size());
  }
  std::string text;
  for (const Row& row : rows) {
    const std::string bytes = human_bytes(row.bytes);
    constexpr size_t kBytes = 10;
    text += str_cat("  ", row.name, std::string(width + 2 - row.name.size(), ' '),
                    std::string(kBytes - std::min(kBytes, bytes.size()), ' '), bytes,
                    row.note.empty() ? "" : str_cat("  ", row.note), "\n");
  }
  return text;
}

std::string heading(const train::PlanReport& report) {
  const auto millions = [](double count) { return str_cat(short_number(count / 1e6), " M"); };
  return str_cat(report.model, "\n", millions(report.plan.parameters), " parameters, ", millions(report.plan.trained),
                 " of them trained; batches of ", report.batch.batch_size, " x ", report.micro_batches, " x ",
                 report.world, report.world == 1 ? " rank" : str_cat(" ranks (", report.strategy, ")"), ", ",
                 report.batch.cameras, report.batch.cameras == 1 ? " camera" : " cameras", ", prompts of ",
                 report.batch.prompt_tokens, " tokens\n");
}

Json moment_json(const models::MemoryMoment& moment) {
  Json uses = Json::object();
  for (size_t i = 0; i < models::kNumMemoryUses; ++i) {
    uses[std::string(models::memory_use_name(static_cast<MemoryUse>(i)))] = moment.by_use[i];
  }
  return uses;
}

}  // namespace

double parse_bytes(const std::string& text, const std::string& where) {
  const std::string trimmed(trim_text(text));
  char* end = nullptr;
  const double number = std::strtod(trimmed.c_str(), &end);
  const std::string unit(trim_text(end));
  constexpr std::pair<const char*, double> kUnits[] = {
      {"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name && end != trimmed.c_str() && std::isfinite(number) && number > 0) {
      return number * factor;
    }
  }
  throw Error(ErrorKind::kUsage, str_cat("'", text, "' is no amount of memory"), where, "64GiB, 80GB or 512MiB");
}

std::string plan_text(const train::PlanReport& report, double memory) {
  const train::MemoryPlan& plan = report.plan;
  std::vector<Row> rows;
  for (size_t i = 0; i < models::kNumMemoryUses; ++i) {
    rows.push_back({std::string(models::memory_use_name(static_cast<MemoryUse>(i))), plan.peak.by_use[i]});
  }
  rows.push_back({"peak", plan.total(), str_cat("in the ", plan.peak.phase)});
  rows.push_back({"first step", plan.first_step, "before it there are no moments"});
  rows.push_back({"between steps", plan.resting.total()});
  std::string text = str_cat(heading(report), "\na rank, at the peak\n", table_of(rows));
  std::vector<Row> blocks;
  for (const auto& [name, bytes] : plan.activations) {
    blocks.push_back({name, bytes});
  }
  text += str_cat("\nkept for the backward pass\n", table_of(blocks));
  if (memory <= 0) {
    return text;
  }
  text += str_cat("\n", human_bytes(memory), " for a rank: ", plan.total() <= memory ? "fits" : "does not fit",
                  report.largest_batch > 0 ? str_cat(", largest batch_size ", report.largest_batch)
                                           : std::string(", not even batch_size 1"),
                  "\n");
  if (!report.changes.empty()) {
    std::vector<Row> changes;
    for (const train::PlanChange& change : report.changes) {
      changes.push_back({change.what, change.plan.total(), change.plan.total() <= memory ? "fits" : ""});
    }
    text += str_cat("\nwith one change\n", table_of(changes));
  }
  return text;
}

Json plan_json(const train::PlanReport& report, double memory) {
  const train::MemoryPlan& plan = report.plan;
  Json activations = Json::object(), changes = Json::array();
  for (const auto& [name, bytes] : plan.activations) {
    activations[name] = bytes;
  }
  for (const train::PlanChange& change : report.changes) {
    changes.push_back(Json::object(
        {{"change", change.what}, {"peak_bytes", change.plan.total()}, {"fits", change.plan.total() <= memory}}));
  }
  return Json::object({{"fits", memory <= 0 || plan.total() <= memory},
                       {"model", report.model},
                       {"strategy", report.strategy},
                       {"ranks", report.world},
                       {"batch_size", report.batch.batch_size},
                       {"micro_batches", report.micro_batches},
                       {"cameras", report.batch.cameras},
                       {"prompt_tokens", report.batch.prompt_tokens},
                       {"parameters", plan.parameters},
                       {"trained", plan.trained},
                       {"memory_bytes", memory > 0 ? Json(memory) : Json()},
                       {"peak_bytes", plan.total()},
                       {"peak_phase", plan.peak.phase},
                       {"first_step_bytes", plan.first_step},
                       {"resting_bytes", plan.resting.total()},
                       {"at_peak", moment_json(plan.peak)},
                       {"activations", std::move(activations)},
                       {"largest_batch_size", report.largest_batch},
                       {"changes", std::move(changes)}});
}

std::string plan_hint(const train::PlanReport& report, double memory) {
  std::vector<std::string> fitting;
  for (const train::PlanChange& change : report.changes) {
    if (change.plan.total() <= memory) {
      fitting.push_back(str_cat(change.what, " (", human_bytes(change.plan.total()), ")"));
    }
  }
  return fitting.empty() ? "no single change is enough: several of the table's, or more ranks with zero3"
                         : join_text(fitting, ", or ");
}

}  // namespace flexor::cli
