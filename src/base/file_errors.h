#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace flexor {

/// Error(kFile): "WHAT: reason of the errno" with a hint that fits it (disk full, no permission, missing).
Error file_error(std::string_view what, const std::string& path, int code);
[[noreturn]] void throw_file_error(std::string_view what, const std::string& path, int code);

}  // namespace flexor
