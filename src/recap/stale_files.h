#pragma once
#include <string>

namespace flexor::recap {

/// Checkpoints of an earlier training must not be taken for those of one that was announced, but stopped before it had
/// removed them. FOLDER/superseded lists the files that were below FOLDER/checkpoints when it was announced.
void mark_stale(const std::string& folder);
/// Whether one of the listed files is still there as it was.
bool has_stale(const std::string& folder);
/// After the training: removes the list.
void forget_stale(const std::string& folder);

}  // namespace flexor::recap
