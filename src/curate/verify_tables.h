#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/episode_records.h"
#include "data/finding.h"
#include "data/stats_check.h"

namespace flexor::curate {

/// What the data files were found to hold.
struct TablesReport {
  std::vector<data::Finding> findings;
  std::map<int64_t, int64_t> rows;  ///< by episode_index; episodes whose file cannot be read are missing
  int64_t num_files = 0, num_rows = 0;
  data::EpisodeSummaries by_episode;
  data::Summaries whole;  ///< features that were read without an error in every episode
};

/// Reads every data file: columns and their types, rows of each episode, numbering, timestamps, tasks, values, and
/// pictures that are stored in Parquet.
/// @param tasks          null: unknown
/// @param decode_images  all pictures; otherwise the first of each file
TablesReport verify_tables(const data::DatasetInfo& info, const data::TaskTable* tasks,
                           const std::vector<data::EpisodeRecord>& records, bool decode_images);

}  // namespace flexor::curate
