#pragma once
#include <string>
#include <vector>

#include "base/env.h"

namespace flexor::device {

using flexor::Env;

/// Devices of a kind that the kernel's driver sees: /dev/nvidia0 ... for "cuda", /dev/davinci0 ... for "npu"; 0 for
/// names that have no such files.
int count_device_files(const std::string& name);

/// Folders that are searched: those of FLEXOR_BACKEND_PATH (separated by ':'), the program's own, and ../lib beside it.
std::vector<std::string> backend_folders(const Env& env);

/// The file libflexor_<name>.so, "" if there is none.
std::string find_backend(const std::string& name, const Env& env);

/// Names of all back ends: cuda, npu, and whatever else lies in the folders.
std::vector<std::string> backend_names(const Env& env);

/// A library that is opened, for all that come after it, before the back end that is linked to it.
struct VendorLibrary {
  std::string path;    ///< or a plain name, which the loader looks for
  std::string advice;  ///< for users whose machine lacks it
};

/// What a back end needs in front (backend_plugin.h, step 2). @param torch_folder  holds libtorch_cpu.so
std::vector<VendorLibrary> vendor_libraries(const std::string& name, const std::string& torch_folder, const Env& env);

/// The folder of the LibTorch that this process has loaded.
std::string torch_library_folder();

/// The libraries of CANN that torch_npu 2.13 loads.
const std::vector<std::string>& cann_libraries();
/// Those that are nowhere to be found.
std::vector<std::string> missing_cann_libraries(const Env& env);

}  // namespace flexor::device
