#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/finding.h"

namespace flexor::curate {

struct VerifyOptions {
  std::string root;     ///< folder that holds meta/info.json
  bool decode = false;  ///< every picture, not only what the containers and the first images say
};

/// Everything that was found, and how much was looked at.
struct VerifyReport {
  std::string root, version;  ///< version is empty when info.json cannot be read
  std::vector<data::Finding> findings;
  int64_t episodes = 0, frames = 0, data_files = 0, videos = 0;

  bool ok() const { return !data::has_errors(findings); }
};

/// Checks all that a training run relies on, with the checks that training itself makes (data/dataset_check.h), but
/// goes on behind what is broken: a file that cannot be read is one finding, and the others are still looked at.
/// Nothing is written. Rows are read a few thousand at a time, several files in parallel.
/// @throws Error(kInterrupted) only
VerifyReport verify_dataset(const VerifyOptions& options);

}  // namespace flexor::curate
