#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

#include "nn/gemma_layer.h"
#include "nn/linear.h"
#include "nn/param_visitor.h"
#include "nn/rms_norm.h"
#include "nn/siglip.h"
#include "schema/policy_config.h"
#include "tensor/param_block.h"

namespace flexor::models {

/// PaliGemma: SigLIP tower, projector and language model.
struct Paligemma {
  at::Tensor lm_head;  ///< [vocab, D], never used; kept for files
  nn::SiglipTower vision_tower;
  nn::Linear projector;     ///< vision width -> D
  at::Tensor embed_tokens;  ///< [vocab, D]; row 0 is <pad> and gets no gradient
  std::vector<nn::GemmaLayer> layers;
  nn::RmsNorm norm;  ///< its output is unread; kept for files

  void params(nn::ParamVisitor& v);
};

/// The action expert: a Gemma stack without embedding, with adaptive norms in pi0.5.
struct ActionExpert {
  at::Tensor lm_head;  ///< [vocab, W], never used; kept for files
  std::vector<nn::GemmaLayer> layers;
  nn::RmsNorm norm;

  void params(nn::ParamVisitor& v);
};

/// All parameters of pi0 or pi0.5 under LeRobot's names and in its order.
struct FlowNet {
  Paligemma paligemma;
  ActionExpert expert;
  nn::Linear action_in_proj, action_out_proj;
  nn::Linear state_proj, action_time_mlp_in, action_time_mlp_out;  ///< pi0
  nn::Linear time_mlp_in, time_mlp_out;                            ///< pi0.5
  bool is_pi05 = true;
  int64_t head_dim = 0;  ///< E, of both stacks

  /// dtype of the attention and MLP weights: float32, or bfloat16 in LeRobot's mixed layout.
  at::ScalarType body_dtype() const { return expert.layers.front().self_attn.q_proj.weight.scalar_type(); }
  void params(nn::ParamVisitor& v);
  /// SigLIP's layers, the embedding, then the two stacks layer by layer.
  ModelBlocks blocks() const;
};

/// Uninitialised parameters of the sizes and the dtype that `config` asks for. With bfloat16 the vision tower, the
/// projector, all norms and the small projections stay float32.
/// @throws Error(kConfig) if sizes contradict each other; all contradictions are named
FlowNet make_flow_net(const schema::PolicyConfig& config);

}  // namespace flexor::models
