#pragma once
#include <string>
#include <vector>

namespace flexor::curate {

/// The Parquet files of meta/episodes, in sorted order. Empty where there are none.
std::vector<std::string> episode_files(const std::string& root);

/// True for a file of meta/ that the format knows: info.json, tasks, episodes and statistics of any version.
/// @param name  relative to meta/
bool is_format_file(const std::string& name);

/// Other files of meta/ and of the root (README.md, LICENSE, sidecars of other programs), relative to the root, sorted.
/// Hidden files, pictures of a recording, and caches are left out.
std::vector<std::string> other_files(const std::string& root);

}  // namespace flexor::curate
