#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/parquet_writer.h"
#include "world.h"

namespace flexor::place_block {

inline constexpr std::string_view kCamera = "observation.images.top";

/// The frames of one episode: what was seen, and what was commanded then.
struct Episode {
  std::string behaviour;  ///< of the demonstrator
  bool success = false;
  std::vector<std::array<float, 3>> states;   ///< x, y, opening
  std::vector<std::array<float, 3>> actions;  ///< dx, dy, opening
  std::vector<std::string> pictures;          ///< PNG files
};

/// Writes a LeRobot v3.0 dataset with pictures in the table (no video), the column is_success, and the demonstrator's
/// behaviour in meta/episodes. The folder must be empty.
class Recording {
 public:
  /// @throws Error(kFile)
  explicit Recording(std::string root);

  void add(Episode episode);
  /// Metadata and statistics. @throws Error(kFile)
  void finish();

 private:
  void write_episodes() const;
  void write_tasks() const;
  void write_info() const;
  void write_statistics() const;

  std::string root_;
  table::ParquetWriter frames_;
  std::vector<int64_t> lengths_;
  std::vector<std::string> behaviours_;
  int64_t num_frames_ = 0;
};

}  // namespace flexor::place_block
