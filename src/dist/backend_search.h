#pragma once
#include <string>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

/// A device back end, which is loaded at run time: libflexor_<name>.so.
struct BackendReport {
  std::string name;                   ///< "cuda", "npu"
  int num_device_files = 0;           ///< /dev/nvidia0, /dev/davinci0 ...: the kernel's driver sees as many devices
  std::string path;                   ///< of the back end; empty: not found
  std::vector<std::string> searched;  ///< folders, in order
  std::string problem;                ///< why what was found cannot be loaded: usually the library that is missing
  std::vector<std::string> missing;   ///< npu: libraries of CANN that are nowhere to be found
};

/// Folders that are searched: those of FLEXOR_BACKEND_PATH (separated by ':'), the program's own, and ../lib beside it.
std::vector<std::string> backend_folders(const Env& env);

/// What stands in the way of each back end. One that is there is loaded for a try, not started.
std::vector<BackendReport> report_backends(const Env& env);

/// The libraries of CANN that torch_npu 2.13 loads.
const std::vector<std::string>& cann_libraries();

}  // namespace flexor::dist
