#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "curate/stats_source.h"

namespace flexor::curate {

/// Consecutive rows of one episode in a piece of one column.
struct ScanPiece {
  size_t episode;       ///< number in the source
  int64_t first_frame;  ///< of the episode
  int64_t count;        ///< rows
  const NumericValues& values;
  int64_t first_row;  ///< in `values`
  int64_t width;      ///< values a row
};

/// Where an error about a value of a piece points: "ROOT/data/x.parquet, episode 3, frame 7".
std::string place_of(const StatsSource& source, const ScanPiece& piece, int64_t row);

/// Adds the rows of a piece; `to` takes their type.
void append_piece(const ScanPiece& piece, NumericValues& to);

/// Walks through the numeric columns of a dataset in memory that does not depend on its size.
class NumericScan {
 public:
  /// Some row groups of one file; what one thread reads at a time.
  struct Unit {
    size_t file;
    int first_group, last_group;  ///< last_group -1: to the end
  };

  /// @param source  must outlive this
  explicit NumericScan(const StatsSource& source);

  /// In the order of the files, which is that of the episodes in well-formed datasets. The same for any number of
  /// threads.
  const std::vector<Unit>& units() const { return units_; }

  /// Calls body(index into `features`, piece) for the rows of the unit, in order. Rows of no known episode are skipped.
  /// Thread-safe. @throws Error(kFile), Error(kData) for what cannot be read or disagrees with info.json
  using Body = std::function<void(size_t, const ScanPiece&)>;
  void run(const Unit& unit, const std::vector<const data::FeatureInfo*>& features, const Body& body) const;

 private:
  struct Run {
    size_t episode;
    int64_t first_row, count;
  };
  struct File {
    std::string path;
    std::vector<Run> runs;  ///< ascending first_row
  };
  void add_units(size_t file);
  static void split(const File& file, const NumericValues& values, int64_t width, int64_t row, int64_t rows,
                    const std::function<void(const ScanPiece&)>& body);

  std::vector<File> files_;
  std::vector<Unit> units_;
};

}  // namespace flexor::curate
