#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "curate/rewrite_plan.h"
#include "curate/rewritten_info.h"

namespace flexor::curate {

struct RewriteOptions {
  TargetVersion version = TargetVersion::kV30;
  FileLimits limits;
  bool reencode = false;  ///< encode those videos again whose packets cannot be copied
};

/// What was written, for people and scripts.
struct RewriteReport {
  std::string dataset;  ///< the new folder
  std::string version;
  int64_t episodes = 0, frames = 0, tasks = 0;
  int64_t videos_copied = 0, videos_reencoded = 0;  ///< files
  std::vector<std::string> reencoded;               ///< relative paths
  std::vector<std::string> dropped;                 ///< what the sources had and the new dataset has not: "meta/x: why"
  int64_t bytes = 0;
};
Json to_json(const RewriteReport& report);

/// @throws Error(kFile) if `target` exists or lies in a source
void check_new_folder(const std::string& target, const std::vector<std::string>& sources);

/// Writes the planned dataset to `target`, which must not exist. It appears complete or not at all; the sources are
/// only read. Tables are read and written an episode at a time, video packets are copied; several files at once.
/// @throws Error(kFile): `target` exists or lies in a source, no room on the disk; Error(kData): sources that disagree
///         with themselves, videos whose packets cannot be copied (without `reencode`)
RewriteReport rewrite(const RewritePlan& plan, const std::string& target, const RewriteOptions& options);

}  // namespace flexor::curate
