#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace flexor::report {

/// Values of one name in metrics.jsonl, by step.
struct Curve {
  std::string name;
  std::vector<double> steps, values;
};

struct CheckpointInfo {
  std::string name;  ///< "000100"
  int64_t bytes = 0;
  bool is_last = false;  ///< `checkpoints/last` points to it
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// What a run's folder says. Only metrics.jsonl is needed.
struct RunFiles {
  std::string folder;
  std::vector<Curve> curves;  ///< in the order of first appearance
  int64_t num_cut_lines = 0;  ///< 1 if the last line is incomplete: the run was killed, or is still writing
  Pairs config;               ///< config.yaml, flat: ("optimizer.lr", "2.5e-05")
  Pairs environment;          ///< environment.json, flat
  Pairs summary;              ///< the `key = value` lines of *_perf.log and *_acc.log
  std::vector<CheckpointInfo> checkpoints;
  /// samples.json or eval/samples.json: {names: [A], samples: [{episode, frame, predicted: [T][A], recorded: [T][A]}]}
  Json samples;
  Json evaluation;  ///< eval.json or eval/eval.json; null, as `samples`, if there is none

  const Curve* find(std::string_view name) const;
};

/// A run that was killed and resumed repeats some steps: the later values count.
/// @throws Error(kFile) without a metrics.jsonl, Error(kData) naming file and line for one that is damaged elsewhere
/// than at its end
RunFiles read_run(const std::string& folder);

}  // namespace flexor::report
