#pragma once
#include <string>

#include "base/json.h"
#include "train/policy_plan.h"

namespace flexor::cli {

/// "64GiB", "80 GB", "512MiB", "1e9": bytes. @param where  for the error  @throws Error(kUsage)
double parse_bytes(const std::string& text, const std::string& where);

/// A table for people. @param memory  of a rank, 0: not known
std::string plan_text(const train::PlanReport& report, double memory);

/// The same numbers, all in bytes.
Json plan_json(const train::PlanReport& report, double memory);

/// What to change so that it fits, in one line.
std::string plan_hint(const train::PlanReport& report, double memory);

}  // namespace flexor::cli
