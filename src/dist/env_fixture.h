#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dist/launch_env.h"

namespace flexor::dist {

/// An environment of these variables alone; as in that of the process, an empty one is not set.
inline Env env_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace flexor::dist
