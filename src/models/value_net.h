#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

#include "models/value_config.h"
#include "nn/gemma3_layer.h"
#include "nn/gemma_layer.h"
#include "nn/linear.h"
#include "nn/param_visitor.h"
#include "nn/rms_norm.h"
#include "nn/siglip.h"
#include "nn/siglip_pool.h"
#include "tensor/param_block.h"

namespace flexor::models {

/// Gemma3 without its head, which is tied to the embedding and unused here.
struct Gemma3Stack {
  at::Tensor embed_tokens;  ///< [vocab, D]; row 0 is <pad> and gets no gradient
  std::vector<nn::Gemma3Layer> layers;
  nn::RmsNorm norm;  ///< its output is unread by the value model; kept for files

  /// Names below "model.".
  void params(nn::ParamVisitor& v);
};

/// SigLIP with its pooling head, which the value model does not read; kept for files.
struct VisionTower {
  nn::SiglipTower tower;
  nn::SiglipPool pool;

  /// Names below "vision_tower.".
  void params(nn::ParamVisitor& v);
};

/// A Gemma stack without token embedding: attends to the keys and values of Gemma3, layer by layer.
struct CriticExpert {
  std::vector<nn::GemmaLayer> layers;
  nn::RmsNorm norm;

  /// Names below "experts.value.model.".
  void params(nn::ParamVisitor& v);
};

/// All parameters of the value model under the reference's names, in the order of its state dict; without the two
/// lm_heads, which nothing reads.
struct ValueNet {
  VisionTower vision;
  Gemma3Stack gemma3;
  nn::Linear multi_modal_proj;  ///< vision width -> D
  CriticExpert expert;
  at::Tensor cls_embedding;  ///< [1, W]
  nn::Linear value_proj;     ///< W -> bins

  void params(nn::ParamVisitor& v);
  /// The embedding, SigLIP's layers, Gemma3's, the expert's. @param read  layers of Gemma3 that are computed
  ModelBlocks blocks(size_t read) const;
};

/// Uninitialised float32 parameters.
ValueNet make_value_net(const ValueConfig& config);
Gemma3Stack make_gemma3(const Gemma3Size& size);
VisionTower make_vision_tower(const schema::VisionSize& size, int64_t image_size);

}  // namespace flexor::models
