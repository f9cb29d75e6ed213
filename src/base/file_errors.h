#pragma once
#include <string>
#include <string_view>

namespace flexor {

/// Throws Error(kFile): "WHAT: reason of the errno" with a hint that fits it (disk full, no permission, missing).
[[noreturn]] void throw_file_error(std::string_view what, const std::string& path, int code);

}  // namespace flexor
