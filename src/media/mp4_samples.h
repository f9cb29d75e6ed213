#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flexor::media {

/// What the index (moov) of an mp4 or mov file says about the pictures of its video track, in decoding order.
struct Mp4Samples {
  int64_t timescale = 0;     ///< ticks per second
  std::vector<int64_t> pts;  ///< presentation times in ticks, after the edit list
  std::vector<bool> is_key;
};

/// Reads the sample tables of the first video track (ISO/IEC 14496-12: mdhd, stts, ctts, stss, stsz, elst).
/// @returns  nothing for another container, a fragmented file, several edits, or tables that contradict each other
std::optional<Mp4Samples> read_mp4_samples(const std::string& path);

/// Bytes that an mp4 file lacks at its end: its last box promises more than there are. 0 for a whole file and for other
/// containers.
uint64_t mp4_missing_bytes(const std::string& path);

}  // namespace flexor::media
