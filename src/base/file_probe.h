#pragma once
#include <string>

namespace flexor {

/// Whether `path` names a regular file (links are followed); false if nothing is there.
/// @throws Error(kFile) if that cannot be known: a folder on the way that may not be searched, a failing disk
bool is_regular_file(const std::string& path);

}  // namespace flexor
