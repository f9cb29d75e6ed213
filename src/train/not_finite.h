#pragma once
#include <optional>
#include <string>

#include "optim/adamw.h"

namespace flexor::train {

/// What a loss or gradient that is not finite comes from, when it is not the data or the learning rate.
struct Culprit {
  std::string what;  ///< "the weights already hold NaN or infinity: 'model.action_out_proj.weight'"
  std::string hint;
};

/// Looks through this rank's weights and moments; meant for after the failure. Moments that are not finite, or squares
/// below 0, no training leaves behind; weights only count while none of this process's steps changed them.
std::optional<Culprit> find_culprit(const optim::AdamW& optimizer, bool weights_are_unchanged);

}  // namespace flexor::train
