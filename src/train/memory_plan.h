#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "models/memory_ledger.h"
#include "models/memory_tape.h"
#include "train/parallel_context.h"

namespace flexor::train {

/// What training adds to the process beside its tensors, whatever the model: code of LibTorch and oneDNN that is read
/// from its files or made at its first use, stacks and heaps of threads. Peaks of the tiny policies of tests/golden,
/// whose tensors have less than 1 MiB, are 40 MiB (float32) and 53 MiB (bfloat16) above what there was before the
/// model.
inline constexpr double kProgramBytes = 48.0 * 0x1p20;

/// What decides the memory of a training step beside model and batch.
struct MemorySetup {
  int64_t micro_batches = 1;      ///< of a step
  std::string strategy = "none";  ///< parallel.strategy
  int64_t world = 1;
  int64_t ranks_per_copy = 0;  ///< of hybrid: ranks of a node; 0: all
  bool has_masters = false;    ///< low precision parameters are updated in float32
  bool has_ema = false;
  bool unread_is_mapped = false;  ///< weights that nothing reads stay in their file
  double batch_bytes = 0;         ///< of all batches that are held at once
  double program_bytes = 0;       ///< kProgramBytes, or 0 for the tensors alone
};

/// Bytes of one rank (the fullest). A prediction: what training adds to a process that has no model yet, without what
/// its allocator wastes.
struct MemoryPlan {
  models::MemoryMoment peak;     ///< of every step but the first
  double first_step = 0;         ///< peak of the first one, before which there are no moments
  models::MemoryMoment resting;  ///< between steps
  std::vector<std::pair<std::string, double>> activations;  ///< kept for the backward pass, by block
  double parameters = 0, trained = 0;                       ///< numbers of values, of the whole model

  double total() const { return peak.total(); }
};

/// The forward pass of one micro batch (models/flow_sketch.h).
using SketchForward = std::function<models::SketchTensor(models::MemoryTape& tape)>;

/// Goes through a step without computing: parameters, states, forward and backward pass, reduction, update.
/// @param model  with requires_grad set; its values are not read
MemoryPlan plan_memory(const ModelParts& model, const SketchForward& forward, const MemorySetup& setup);

}  // namespace flexor::train
