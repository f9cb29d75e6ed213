#pragma once
#include <vector>

#include "models/policy_model.h"
#include "schema/batch_file.h"
#include "tensor/safetensors.h"

namespace flexor::align {

struct RecordOptions {
  bool backward = false;  ///< gradients as well
  bool savings = false;   ///< keep the model's exact savings on; shapes then differ from the reference's
};

/// Tensors of one training forward pass (and backward pass), the prefix cache and one sampling of a policy, by the
/// names that the recordings of the reference programs use:
/// - what the model taps in the training pass: `image.i`, `prefix_embs`, `layer_first.suffix`, `v_t`, ...
/// - `loss`, `loss_per_sample`, `loss_per_dim`; with `backward` `grad.<parameter>` (absent without gradient) and
///   `grad_norm_total` before clipping
/// - what it taps while sampling: `kv_cache.first.key`, `sample_v.0`, ... and `sampled_actions` [B, T, max_action_dim],
///   `sampled_actions_4steps`, `predict_action_chunk` (real action dims)
/// The loss part needs `action`, `noise` and `time` in the batch; sampling starts from `sample_noise`, else from
/// `noise`. Everything is detached and on the CPU. The model's options are put back afterwards.
/// @throws Error(kData) if the batch lacks what is needed or does not fit the policy
std::vector<NamedTensor> record(models::PolicyModel& model, const schema::BatchFile& file,
                                const RecordOptions& options);

}  // namespace flexor::align
