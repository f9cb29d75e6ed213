#include "models/flow_sketch.h"

#include "models/flow_policy.h"
#include "models/masks.h"
#include "models/net_sketch.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

// Axes: B batch, C cameras, N picture tokens of one camera, L prompt tokens, P = C N + L, S suffix tokens, D and W
// widths, T horizon, A padded action dims.

class FlowSketch {
 public:
  FlowSketch(FlowNet& net, const schema::PolicyConfig& config, const ComputeOptions& options, const BatchShape& batch,
             MemoryTape& tape)
      : net_(net),
        config_(config),
        options_(options),
        batch_(batch),
        tape_(tape),
        nn_(tape, {options.fused_attention, options.autocast, options.gradient_checkpointing}),
        dtype_(options.autocast ? at::kBFloat16 : net.body_dtype()) {}

  SketchTensor loss() {
    const int64_t B = batch_.batch_size, T = config_.chunk_size, A = config_.max_action_dim;
    const SketchTensor padded = tape_.constant({B, T, A}, at::kFloat), x_t = tape_.constant({B, T, A}, at::kFloat),
                       u_t = tape_.constant({B, T, A}, at::kFloat);
    const SketchTensor prefix = embed_prefix();
    tape_.ledger().enter("action tokens");
    const SketchTensor time = embed_time();
    const SketchTensor suffix = embed_suffix(x_t, time);
    const SketchTensor out = run_joint(prefix, suffix, net_.is_pi05 ? time : SketchTensor());
    const SketchTensor actions = out.size(1) == T ? out : tape_.narrow(out, 1, T);
    const SketchTensor v_t =
        nn_.cast(nn_.linear(nn_.cast(actions, at::kFloat), net_.action_out_proj, /*fast=*/false), at::kFloat);
    const SketchTensor elements = nn_.kept_elementwise(nn_.sum(v_t, u_t));
    const SketchTensor mean = tape_.op({1}, at::kFloat, {{tape_.narrow(elements, 2, config_.action_dim())}});
    nn_.end_forward();
    return mean;
  }

 private:
  /// [N, 3, S, S] float32 of all cameras, ready for the tower.
  SketchTensor pictures() {
    const int64_t B = batch_.batch_size, side = config_.image_resolution[0];
    std::vector<SketchTensor> cameras;
    for (int64_t i = 0; i < batch_.cameras; ++i) {
      const auto plane = [&] { return tape_.constant({B, 3, side, side}, at::kFloat); };
      const SketchTensor wide = batch_.float_pictures ? SketchTensor() : plane();
      const SketchTensor unit = batch_.float_pictures ? SketchTensor() : plane(), twice = plane();
      cameras.push_back(plane());
    }
    prepared_ = cameras;
    return tape_.constant({batch_.cameras * B, 3, side, side}, at::kFloat);
  }

  SketchTensor embed_prefix() {
    tape_.ledger().enter("vision embedding");
    const int64_t B = batch_.batch_size, C = batch_.cameras, L = batch_.prompt_tokens;
    const auto encode = [&] {
      const SketchTensor patches = nn_.vision(pictures(), net_.paligemma.vision_tower);
      return nn_.linear(patches, net_.paligemma.projector, options_.fused_attention);  // [C B, N, D]
    };
    const SketchTensor features = encode();
    const int64_t N = features.size(1), D = features.size(2);
    tape_.ledger().enter("prompt");
    const SketchTensor prompt = nn_.scaled(nn_.embedding(net_.paligemma.embed_tokens, B, L));
    const SketchTensor images =
        C == 1 || B == 1 ? tape_.view(features, {B, C * N, D}) : nn_.copied(features, {B, C * N, D});
    const SketchTensor embs = nn_.cat(images, prompt, 1);
    prepared_.clear();
    return embs;
  }

  SketchTensor embed_time() {
    const int64_t W = net_.action_in_proj.weight.size(0);
    const SketchTensor embedding = tape_.constant({batch_.batch_size, W}, at::kFloat);
    if (!net_.is_pi05) {
      return embedding;
    }
    const SketchTensor middle = nn_.kept_elementwise(nn_.linear(embedding, net_.time_mlp_in, false));
    return nn_.kept_elementwise(nn_.linear(middle, net_.time_mlp_out, false));
  }

  SketchTensor embed_suffix(const SketchTensor& x_t, const SketchTensor& time) {
    const SketchTensor actions = nn_.linear(x_t, net_.action_in_proj, false);
    if (net_.is_pi05) {
      return actions;
    }
    const int64_t B = batch_.batch_size;
    const SketchTensor state = tape_.constant({B, config_.max_state_dim}, at::kFloat);
    const SketchTensor token = tape_.view(nn_.linear(state, net_.state_proj, false), {B, 1, actions.size(2)});
    SketchTensor wide = time;
    wide.shape = actions.shape;
    const SketchTensor mixed = nn_.cat(actions, wide, 2);
    const SketchTensor hidden = nn_.kept_elementwise(nn_.linear(mixed, net_.action_time_mlp_in, false));
    return nn_.cat(token, nn_.linear(hidden, net_.action_time_mlp_out, false), 1);
  }

  /// What all layers share.
  struct Tables {
    SketchTensor prefix_rope, suffix_rope, prefix_mask, suffix_mask;
  };

  /// As models/joint_transformer.cpp.
  SketchTensor run_joint(const SketchTensor& prefix, const SketchTensor& suffix, const SketchTensor& condition) {
    tape_.ledger().enter("joint layers");
    const int64_t B = batch_.batch_size, P = prefix.size(1), S = suffix.size(1);
    const auto angles = [&](int64_t length) { return tape_.constant({B, length, net_.head_dim}, dtype_); };
    const SketchTensor prefix_rope = angles(P), suffix_rope = angles(S);
    const SketchTensor prefix_mask = batch_.has_padding ? tape_.constant({B, 1, 1, P}, at::kFloat) : SketchTensor();
    SketchTensor suffix_mask;
    if (!net_.is_pi05 || batch_.has_padding) {
      suffix_mask = tape_.constant({B, 1, net_.is_pi05 ? 1 : S, P + S}, at::kFloat);
    }
    SketchTensor p = nn_.cast(prefix, dtype_), s = nn_.cast(suffix, dtype_);
    const size_t depth = net_.expert.layers.size();
    for (size_t i = 0; i < depth; ++i) {
      const bool prefix_unread = i + 1 == depth;
      const Tables tables{prefix_rope, suffix_rope, prefix_mask, suffix_mask};
      const auto layer = [this, i, tables, prefix_unread](const MemoryTape::Tensors& in) {
        return joint_layer(i, in, tables, prefix_unread);
      };
      const MemoryTape::Tensors out = tape_.run_block(net_.paligemma.layers[i].self_attn.q_proj.weight, layer,
                                                      {p, s, condition}, options_.gradient_checkpointing);
      p = out[0];
      s = out[1];
    }
    tape_.ledger().enter("action head");
    return nn_.rms_norm(s, net_.expert.norm, nn_.modulation(net_.expert.norm, condition)).y;
  }

  MemoryTape::Tensors joint_layer(size_t i, const MemoryTape::Tensors& in, const Tables& tables, bool prefix_unread) {
    const nn::GemmaLayer &vlm = net_.paligemma.layers[i], &expert = net_.expert.layers[i];
    const SketchTensor &prefix = in[0], &suffix = in[1], &condition = in[2];
    const NetSketch::Normed p = nn_.rms_norm(prefix, vlm.input_layernorm, {});
    const NetSketch::Normed s =
        nn_.rms_norm(suffix, expert.input_layernorm, nn_.modulation(expert.input_layernorm, condition));
    NetSketch::KeyValue p_kv = nn_.keys_values(p.y, vlm, tables.prefix_rope);
    const NetSketch::KeyValue s_kv = nn_.keys_values(s.y, expert, tables.suffix_rope);
    const SketchTensor s_q = nn_.queries(s.y, expert, tables.suffix_rope);
    SketchTensor p_attended;
    if (prefix_unread) {
      p_kv.k = skip_queries(p_kv.k, vlm.self_attn.q_proj);
    } else {
      p_attended = nn_.attend(nn_.queries(p.y, vlm, tables.prefix_rope), p_kv.k, p_kv.v, tables.prefix_mask);
    }
    const SketchTensor s_attended =
        nn_.attend(s_q, nn_.cat(p_kv.k, s_kv.k, 1), nn_.cat(p_kv.v, s_kv.v, 1), tables.suffix_mask);
    const SketchTensor modulation = nn_.modulation(expert.post_attention_layernorm, condition);
    return {prefix_unread ? SketchTensor() : nn_.finish(prefix, p_attended, vlm, {}, {}),
            nn_.finish(suffix, s_attended, expert, s.gate, modulation)};
  }

  /// Projections whose result nobody reads get a gradient of zeros.
  SketchTensor skip_queries(SketchTensor keys, const nn::Linear& q_proj) {
    for (const Tensor& weight : {q_proj.weight, q_proj.lora_a, q_proj.lora_b}) {
      if (weight.defined() && weight.requires_grad()) {
        const MemoryLedger::Held same = keys.data;
        keys = tape_.op(keys.shape, keys.dtype, {{keys, true}, {tape_.param(weight)}});
        keys.data = same;
      }
    }
    return keys;
  }

  FlowNet& net_;
  const schema::PolicyConfig& config_;
  ComputeOptions options_;
  BatchShape batch_;
  MemoryTape& tape_;
  NetSketch nn_;
  at::ScalarType dtype_;
  std::vector<SketchTensor> prepared_;  ///< pictures that live until the prefix is there
};

}  // namespace

SketchTensor sketch_loss(PolicyModel& model, const BatchShape& batch, MemoryTape& tape) {
  auto& policy = dynamic_cast<FlowPolicy&>(model);
  const auto sketch = std::make_shared<FlowSketch>(policy.net(), policy.config(), policy.options(), batch, tape);
  tape.keep(sketch);
  return sketch->loss();
}

BatchShape shape_of(const schema::Batch& batch) {
  const int64_t length = longest_prompt(batch.token_mask);
  return {.batch_size = batch.size(),
          .cameras = static_cast<int64_t>(batch.cameras.size()),
          .prompt_tokens = length,
          .has_padding = !batch.token_mask.narrow(1, 0, length).all().item<bool>(),
          .float_pictures = !batch.cameras.empty() && batch.cameras.front().pixels.is_floating_point()};
}

double batch_bytes(const schema::PolicyConfig& config, const BatchShape& batch) {
  const auto B = static_cast<double>(batch.batch_size);
  const double picture = 3.0 * static_cast<double>(config.image_resolution[0] * config.image_resolution[1]);
  const double numbers = static_cast<double>(config.max_state_dim + 2 * config.chunk_size * config.max_action_dim);
  const double token = sizeof(int64_t) + 1;
  return B * (static_cast<double>(batch.cameras) * picture * (batch.float_pictures ? sizeof(float) : 1) +
              numbers * sizeof(float) + static_cast<double>(batch.prompt_tokens) * token);
}

}  // namespace flexor::models
