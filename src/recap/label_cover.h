#pragma once
#include <string>

#include "recap/recap_config.h"

namespace flexor::recap {

/// Whether step 3 of a whole configuration will label every frame that step 4 uses of one dataset. A dataset that step
/// 3 does not list is not looked at.
/// @param used  an entry of the policy's data  @param key  that names it
/// @throws Error(kConfig) with the number of frames and the first five (episode, frame)
void require_labelled_frames(const RecapConfig& config, const DatasetEntry& used, const std::string& key);

}  // namespace flexor::recap
