#include "curate/file_groups.h"

namespace flexor::curate {

FilePlace place_of(int64_t file_number) {
  return {file_number / kFilesPerChunk, file_number % kFilesPerChunk};
}

std::vector<int64_t> group_by_size(const std::vector<double>& sizes_mb, double limit_mb) {
  std::vector<int64_t> files;
  files.reserve(sizes_mb.size());
  int64_t file = 0;
  double size_mb = 0;
  bool holds_something = false;
  for (const double unit_mb : sizes_mb) {
    if (holds_something && size_mb + unit_mb >= limit_mb) {
      ++file;
      size_mb = 0;
    }
    size_mb += unit_mb;
    holds_something = true;
    files.push_back(file);
  }
  return files;
}

}  // namespace flexor::curate
