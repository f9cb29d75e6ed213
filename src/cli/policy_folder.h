#pragma once
#include <string>

namespace flexor::cli {

/// The folder that holds config.json: `path` itself, or inside a checkpoint (`pretrained_model`) or a run's folder
/// (`checkpoints/last/pretrained_model`).
/// @throws Error(kFile) saying where it was looked for
std::string policy_folder(const std::string& path);

}  // namespace flexor::cli
