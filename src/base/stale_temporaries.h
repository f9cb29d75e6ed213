#pragma once
#include <string>

namespace flexor {

/// Temporary names of something that will appear as `target`: "target.tmp.XXXXXX", held by an advisory lock on the open
/// file or folder while its owner lives, so that the leftovers of killed runs can be told from the work of live ones.
std::string temporary_pattern(const std::string& target);

/// Takes the advisory lock of an open file or folder. False if another process holds it; true also where the file
/// system has no locks.
bool try_lock(int descriptor);

/// Removes the temporaries of `target` whose owner is dead; leaves alone what is locked or cannot be judged.
void remove_stale_temporaries(const std::string& target);

}  // namespace flexor
