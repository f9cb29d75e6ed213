#pragma once
#include <string>

namespace flexor::curate {

/// Tells the system to begin writing the file to the disk now. A hint: nothing is waited for, failures show elsewhere.
void start_write_back(const std::string& path);

}  // namespace flexor::curate
