#include "base/file_probe.h"

#include <cerrno>
#include <sys/stat.h>

#include "base/file_errors.h"

namespace flexor {

bool is_regular_file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0) {
    return S_ISREG(found.st_mode);
  }
  if (errno == EACCES || errno == EIO || errno == ESTALE) {
    throw_file_error("cannot look for the file", path, errno);
  }
  return false;
}

}  // namespace flexor
