#pragma once
#include <string>

#include "device/backend_search.h"

struct flexor_backend;

namespace flexor::device {

/// Loads libflexor_<name>.so with all that it needs in front, and checks that it fits this program
/// (backend_plugin.h, steps 1 to 3). @param path  gets the file
/// @throws Error(kRuntime) naming what is missing or does not fit
const flexor_backend* load_backend_library(const std::string& name, const Env& env, std::string& path);

}  // namespace flexor::device
