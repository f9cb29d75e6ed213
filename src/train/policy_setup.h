#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/policy_model.h"
#include "optim/adamw.h"
#include "train/run_folder.h"
#include "train/train_config.h"

namespace flexor::train {

/// A model of the run whose parameters have their shapes, and memory only when it is written.
std::unique_ptr<models::PolicyModel> empty_model(const TrainConfig& config, schema::PolicyConfig policy);

/// @throws Error(kRuntime) if a step of the run cannot fit into what is free on the device, or into this machine's
/// memory where the CPU computes; nothing is allocated for it
/// @param world  ranks, which divide the optimizer's state with some strategies
void check_memory(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world = 1);

/// Bytes that a step of the run holds at least. Nothing is allocated for it.
double least_memory(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world = 1);

/// The file that the run's weights come from, whole, with all tensors in the right shapes; nothing is filled. "" for
/// weights that are drawn. @throws Error(kFile), Error(kCheckpoint) as build_model()
std::string check_weights(const RunPlan& plan, const schema::PolicyConfig& policy);

/// The model of a run with its weights, ready to be trained: from the checkpoint that is resumed, else policy.path,
/// else random with policy.vlm_path. With LoRA the base is never read from a checkpoint of the run, whose weights are
/// merged; the trained tensors are (see load_checkpoint).
/// @throws Error(kFile), Error(kCheckpoint)
std::unique_ptr<models::PolicyModel> build_model(const RunPlan& plan, const schema::PolicyConfig& policy);

/// Makes the masters of bfloat16 parameters as exact as the file that the weights came from: float32 tensors in it have
/// not lost anything there.
void sharpen_masters(optim::AdamW& optimizer, const std::string& weights_path, bool is_pi05);

/// Puts tensors in the place of parameters while it lives: for saving averaged weights.
class SwappedParams {
 public:
  SwappedParams(models::PolicyModel& model, const std::vector<std::pair<std::string, at::Tensor>>& replacement);
  ~SwappedParams();
  SwappedParams(const SwappedParams&) = delete;
  SwappedParams& operator=(const SwappedParams&) = delete;

 private:
  models::PolicyModel& model_;
  std::vector<std::pair<std::string, at::Tensor>> originals_;
};

}  // namespace flexor::train
