#pragma once
#include "base/error.h"
#include "dist/group.h"
#include "recap/recap_config.h"

namespace flexor::recap {

// What the main rank of a run says to those that wait in help_with_run().

/// That a step begins, with the place where a training starts; nothing for step 1, which the main rank does alone.
void tell_step(dist::Group& group, const RecapConfig& config, Step step);
void tell_end(dist::Group& group);
/// That a signal ended the run; nothing for other errors, which dist::Group reports.
void tell_stop(dist::Group& group, ErrorKind kind) noexcept;

}  // namespace flexor::recap
