#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/data_file.h"
#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/finding.h"
#include "data/row_checks.h"

namespace flexor::curate {

/// One data file as it was found.
struct FileReport {
  struct EpisodeRows {
    int64_t episode_index = 0, count = 0;
    std::optional<int64_t> first_index;
    double start_time_s = 0;  ///< timestamp of frame 0 where that is not 0
    data::Summaries summaries;
  };
  std::string file;  ///< relative to the root
  bool is_readable = false;
  bool has_frame_index = true;
  std::vector<EpisodeRows> episodes;       ///< runs of equal episode_index, in file order
  std::set<std::string> damaged_features;  ///< that could not be read to the end
  std::vector<data::Finding> findings;
};

/// What is asked of a data file.
struct FileTask {
  std::string file;
  std::optional<int64_t> only_episode;  ///< v2.x: the file holds this one
};

struct FileContext {
  const data::DatasetInfo& info;
  const data::TaskTable* tasks;
  const std::map<int64_t, std::vector<std::string>>& listed_tasks;  ///< by episode_index
  bool decode_images;
};

/// Reads one file column by column. Never throws but for Ctrl-C.
FileReport verify_file(const FileContext& context, const FileTask& task);

}  // namespace flexor::curate
