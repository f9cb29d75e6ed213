#pragma once
#include <string>

namespace flexor {

/// Keeps other processes out of a folder that one run works in: an advisory lock on the folder itself, which the system
/// drops when the process ends, killed or not. Leaves no file behind.
class FolderLock {
 public:
  /// @param folder  must exist  @throws Error(kFile) if another process holds it, or if it cannot be opened. Where the
  ///        file system has no locks, nothing is locked.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace flexor
