#include "curate/write_back.h"

#include <fcntl.h>
#include <unistd.h>

namespace flexor::curate {

void start_write_back(const std::string& path) {
#ifdef SYNC_FILE_RANGE_WRITE
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    ::close(descriptor);
  }
#else
  (void)path;
#endif
}

}  // namespace flexor::curate
