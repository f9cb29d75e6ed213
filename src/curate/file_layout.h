#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "curate/file_groups.h"
#include "curate/rewrite_plan.h"
#include "curate/rewritten_info.h"

namespace flexor::curate {

/// One file of the new dataset: the episodes that stand in it, ascending.
struct OutputFile {
  std::string path;              ///< relative to the root
  std::vector<size_t> episodes;  ///< numbers in the plan
};

/// Which episodes stand in which file. In v2.1 each has its own.
struct FileLayout {
  std::vector<OutputFile> data;
  std::vector<std::vector<OutputFile>> videos;   ///< per camera of RewritePlan::model()
  std::vector<int64_t> data_file;                ///< per episode: number into `data`
  std::vector<std::vector<int64_t>> video_file;  ///< per camera, per episode
  double total_bytes = 0;                        ///< about what will be written
};

/// v3.0 as LeRobot's converter groups it: what follows each other fills a file up to the limit, measured by the
/// uncompressed size of the columns and by the size of the video files. @throws Error(kFile), Error(kData)
FileLayout lay_out(const RewritePlan& plan, TargetVersion version, const FileLimits& limits);

}  // namespace flexor::curate
