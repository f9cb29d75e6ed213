#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// The settings that a step's files depend on: its section without the keys of the shared `data` that it does not read,
/// and without those that only change speed, logging or memory.
Json settings_of_step(const RecapConfig& config, Step step);

/// Removes the member at "a.b", or of every element of a list, "a.list[].c". What is not there is left alone.
void remove_key(Json& json, std::string_view key);

/// "KEY was A, is B" for the first difference of two values; nothing if they are equal.
/// @param key  of the values, "" for whole ones
std::optional<std::string> first_difference(const Json& before, const Json& now, const std::string& key);

}  // namespace flexor::recap
