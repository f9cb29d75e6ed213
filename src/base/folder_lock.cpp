#include "base/folder_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_errors.h"
#include "base/stale_temporaries.h"

namespace flexor {

FolderLock::FolderLock(const std::string& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw_file_error("cannot open the folder", folder, errno);
  }
  if (!try_lock(descriptor_)) {
    ::close(descriptor_);
    throw Error(ErrorKind::kFile, "another process is working in the folder", folder,
                "wait until it has ended, stop it, or give another folder");
  }
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace flexor
