#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recap/judged_frames.h"

namespace flexor::recap {

inline constexpr const char* kLabelAgain = "flexor recap advantages --config FILE writes them again";

/// The rows of a dataset while it is read.
struct JudgedRows {
  JudgedDataset dataset;
  std::vector<int64_t> episode_index;  ///< of every row
  std::string path;                    ///< of the labels, for messages
};

/// Fills rows, labels, scores and thresholds from ROOT/meta/advantages[_TAG].parquet, in the order of the file.
/// @throws Error(kFile), Error(kData)
void read_judged_labels(JudgedRows& rows, const std::string& tag);

/// Puts the rows of several writers, which come in any order, into that of episodes and time.
/// @throws Error(kData) if a frame stands twice
void sort_judged_rows(JudgedRows& rows);

}  // namespace flexor::recap
