#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "curate/extra_columns.h"
#include "curate/rewritten_meta.h"
#include "schema/norm_stats.h"
#include "table/parquet_writer.h"

namespace flexor::curate {

/// The columns of a v3.0 meta/episodes file for episodes that follow each other.
class EpisodeTable {
 public:
  /// The statistics that have columns: feature and statistic, in order, and the shape of a value.
  using StatColumns = std::vector<std::pair<std::pair<std::string, std::string>, std::vector<int64_t>>>;

  explicit EpisodeTable(const MetaParts& parts);

  /// Adds what the episode's statistics have and no column holds yet. True if there was something.
  bool add_stat_columns(const schema::NormStats& stats);

  /// Rows of the episodes from `first` on, one per entry of `stats`, in metadata file `file_number`.
  /// @throws Error(kData) when a statistic has another size than in the episodes before
  std::vector<table::WriteColumn> columns(size_t first, const std::vector<schema::NormStats>& stats,
                                          int64_t file_number) const;
  /// Schema metadata that go with the columns.
  std::map<std::string, std::string> metadata() const { return extras_.metadata(); }

 private:
  void add_places(size_t first, size_t count, std::vector<table::WriteColumn>& columns) const;
  void add_stats(size_t first, const std::vector<schema::NormStats>& stats,
                 std::vector<table::WriteColumn>& columns) const;

  const MetaParts& parts_;
  StatColumns stat_columns_;
  ExtraColumns extras_;
};

}  // namespace flexor::curate
