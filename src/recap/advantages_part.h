#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "recap/advantages.h"
#include "recap/advantages_step.h"
#include "recap/labelled_dataset.h"
#include "recap/value_shards.h"

namespace flexor::recap {

/// One dataset of step 3. Rows are its frames by position.
struct AdvantagesStepRun::Part {
  LabelledDataset labelled;
  FrameColumns frames;
  int64_t num_rows = 0;    ///< rows to label
  int64_t num_judged = 0;  ///< frames to judge: the rows, and what they look ahead to
  std::vector<double> values = {};
  std::optional<ValueShards> shards = {};
  AdvantageRows rows = {};
};

}  // namespace flexor::recap
