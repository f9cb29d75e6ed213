#pragma once
#include <c10/core/Device.h>
#include <optional>
#include <string>

#include "config/field_table.h"
#include "config/finding.h"

namespace flexor::dist {

/// The flag `device`. What is no device's name is refused when it is read.
config::FieldSpec& add_device_flag(config::FieldTable& table, std::string& value);
/// The key `device` of configurations: a run's own may name a device of another machine, so it is checked when the one
/// to use is known, by device_finding() or choose_device().
config::FieldSpec& add_device_key(config::FieldTable& table, std::string& value);
/// What is wrong with the value of the key.
std::optional<config::Finding> device_finding(const std::string& name);

/// device::choose() for this process: environment and local rank are those that its launcher gave it.
/// @param name  value of the key `device`  @throws Error(kConfig) for what is no device's name, and as device::choose()
const c10::Device& choose_device(const std::string& name);

}  // namespace flexor::dist
