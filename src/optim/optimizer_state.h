#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "optim/adamw.h"
#include "optim/lr_schedule.h"

namespace flexor::optim {

// The optimizer's part of a training_state folder, as LeRobot writes and reads it.

/// optimizer_state.safetensors (`state/<index>/{step,exp_avg,exp_avg_sq}`, no entry for a parameter that never had a
/// gradient) and optimizer_param_groups.json (one group, `params` lists all indices). @param lr  of the next step
void save_optimizer(const AdamW& optimizer, double lr, const std::string& folder);

/// Fills moments and step counts; nothing else of the file is used, since the configuration decides the rest.
/// @throws Error(kFile), Error(kCheckpoint) if an entry belongs to no parameter or has another shape
void load_optimizer(AdamW& optimizer, const std::string& folder);

/// scheduler_state.json (torch's LambdaLR) after `step` steps. @param lr  of the next step
Json scheduler_state(double peak_lr, double lr, int64_t step);
Json scheduler_state(const LrSchedule& schedule, int64_t step);

}  // namespace flexor::optim
