#pragma once
#include <string>

#include "config/load.h"

namespace flexor::config {

/// A relative path of a configuration is meant from the current folder if it is there, else from the folder of the
/// configuration file that has it (of several files, the first). One that is in neither place stays as it is.
/// @param path  changed in place; "" stays ""
void resolve_beside_recipe(std::string& path, const Sources& sources);

}  // namespace flexor::config
