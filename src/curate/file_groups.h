#pragma once
#include <cstdint>
#include <vector>

namespace flexor::curate {

/// Where a file of v3.0 stands: chunk-000/file-000.
struct FilePlace {
  int64_t chunk = 0, file = 0;
  friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

/// Files in a chunk folder, whatever chunks_size says: as LeRobot's converter.
inline constexpr int64_t kFilesPerChunk = 1000;
FilePlace place_of(int64_t file_number);

/// Puts units that follow each other into files of up to a limit: a unit opens a new file when the current one holds
/// something and both together reach the limit. The result holds the number of each unit's file, from 0.
/// @param sizes_mb  of each unit, in MiB (1024^2 bytes), as is the limit
std::vector<int64_t> group_by_size(const std::vector<double>& sizes_mb, double limit_mb);

}  // namespace flexor::curate
