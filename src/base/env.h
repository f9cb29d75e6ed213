#pragma once
#include <functional>
#include <optional>
#include <string>

namespace flexor {

/// Looks up an environment variable; nothing for one that is not set or empty.
using Env = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace flexor
