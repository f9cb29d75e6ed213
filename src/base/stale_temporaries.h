#pragma once
#include <string>

namespace flexor {

/// Temporary names of something that will appear as `target`: "target.tmp.XXXXXX", held by an advisory lock on the open
/// file or folder while its owner lives, so that the leftovers of killed runs can be told from the work of live ones.
std::string temporary_pattern(const std::string& target);

/// Takes the lock. True also where the file system has no locks.
bool lock_temporary(int descriptor);

/// Removes the temporaries of `target` whose owner is dead; leaves alone what is locked or cannot be judged.
void remove_stale_temporaries(const std::string& target);

}  // namespace flexor
