#pragma once
#include "cli/doctor_report.h"
#include "dist/launch_env.h"

namespace flexor::cli {

// What `flexor doctor` says about this machine; nothing is changed, nothing throws for what is missing.
DoctorSection program_section();  ///< versions of the program and of the libraries in use
/// The first "KEY : value" of /proc/cpuinfo or /proc/meminfo.
std::string proc_value(const char* file, const std::string& key);
DoctorSection threads_section();   ///< cores, NUMA nodes, threads, limits
DoctorSection memory_section();    ///< of the machine and of the control group
DoctorSection disk_section();      ///< free space here and for temporary files
DoctorSection numerics_section();  ///< flags that change results

}  // namespace flexor::cli
