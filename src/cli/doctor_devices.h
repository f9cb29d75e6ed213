#pragma once
#include "cli/doctor_report.h"
#include "dist/launch_env.h"

namespace flexor::cli {

/// Processors and back ends: what is there, what can be opened, and why not. The first back end that opens is started.
DoctorSection devices_section(const dist::Env& env);

}  // namespace flexor::cli
