#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "curate/rewrite.h"
#include "curate/split_parts.h"

// Datasets made out of datasets. Each checks its sources first (curate/verify.h) and refuses what training would
// refuse; sources are only read; the new folder appears complete or not at all.
namespace flexor::curate {

struct EditOptions {
  std::optional<TargetVersion> version;  ///< without: that of the (first) source, v2.1 for v2.0
  FileLimits limits;
  bool reencode = false;
};

/// The same episodes in another version of the format, or in files of other sizes.
RewriteReport convert_dataset(const std::string& source, const std::string& target, const EditOptions& options);

/// All episodes of all sources, one source after the other. Version: the newest among the sources.
RewriteReport merge_datasets(const std::vector<std::string>& sources, const std::string& target,
                             const EditOptions& options);

/// All episodes but some. What is wrong with those does not matter.
RewriteReport delete_episodes(const std::string& source, const std::string& target,
                              const std::vector<int64_t>& episodes, const EditOptions& options);

/// Writes each part to `target`/name. Shares take consecutive episodes, rounded down, the last one what is left when
/// they sum to 1. @throws Error(kConfig) for parts that overlap, mix shares and episodes, exceed 1, or are empty
std::vector<RewriteReport> split_dataset(const std::string& source, const std::string& target,
                                         const std::vector<SplitPart>& parts, const EditOptions& options);

}  // namespace flexor::curate
