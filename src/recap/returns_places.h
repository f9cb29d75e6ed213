#pragma once
#include <string>
#include <vector>

namespace flexor::recap {

/// Where step 1 reads and writes one dataset.
struct ReturnsPlace {
  std::string source, output;  ///< output: "" in place
};

/// What a place must be before anything is written: no two datasets write into one folder, no copy replaces or reaches
/// into a dataset that is read, and no copy replaces something else than an earlier copy.
/// @throws Error(kConfig), Error(kFile)
void check_places(const std::vector<ReturnsPlace>& places);

/// The JSON files that step 1 adds to, ROOT/meta/stats.json and info.json, must be objects where they are there.
/// @throws Error(kFile), Error(kData)
void check_merged_files(const std::string& root);

}  // namespace flexor::recap
