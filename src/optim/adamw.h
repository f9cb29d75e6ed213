#pragma once
#include <ATen/core/Tensor.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flexor::config {
class FieldTable;
}

namespace flexor::optim {

/// AdamW with decoupled weight decay (arXiv:1711.05101), on all parameters alike; defaults are the preset of pi0 and
/// pi0.5.
struct AdamWConfig {
  double lr = 2.5e-5;  ///< peak
  std::array<double, 2> betas = {0.9, 0.95};
  double eps = 1e-8;
  double weight_decay = 0.01;
  double grad_clip_norm = 1.0;           ///< largest global L2 norm of the gradient; 0 = no clipping
  std::string master_dtype = "float32";  ///< of the copy that bfloat16 parameters are updated in; "none" = no copy
};
void fields(config::FieldTable& table, AdamWConfig& config);

/// One parameter, or this rank's share of it, and what the optimizer keeps about it. Tensors are undefined until they
/// are needed.
struct Slot {
  std::string name;
  std::vector<int64_t> shape;  ///< of the whole parameter
  int64_t first = 0;           ///< of its values, where the share begins
  at::Tensor param;            ///< shares storage with the model's, or is the share: [n], n >= 0
  at::Tensor master;           ///< float32 copy of a bfloat16 parameter, with master_dtype float32
  at::Tensor grad32;           ///< float32 gradient of a parameter with master, summed over the micro batches of a step
  at::Tensor exp_avg, exp_avg_sq;  ///< moments, of the master's dtype if there is one
  at::Tensor steps;                ///< float32 scalar: updates so far
  size_t group = 0;                ///< which learning rate it takes

  const at::Tensor& source() const { return master.defined() ? master : param; }  ///< the most exact value
  /// What belongs here of a tensor for the whole parameter, as a view. @param whole  of `shape`, contiguous
  at::Tensor share_of(const at::Tensor& whole) const;
};

/// Parameters are updated by the fused kernel. One without gradient is skipped entirely (no decay), one with a zero
/// gradient decays. The position of a parameter in the list is its index in LeRobot's optimizer_state.safetensors, so
/// the list holds all parameters, also those that are never trained.
class AdamW {
 public:
  /// @param params  name and tensor (sharing storage with the model) in the order of nn::ParamVisitor
  /// @throws Error(kConfig) for an unknown master_dtype
  AdamW(const std::vector<std::pair<std::string, at::Tensor>>& params, const AdamWConfig& config);
  /// With what is known already.
  AdamW(std::vector<Slot> slots, const AdamWConfig& config);

  /// Call after each backward pass: moves bfloat16 gradients of parameters with master into their float32 sum.
  void collect_grads();
  /// L2 norm over all gradients; afterwards they are scaled by min(1, grad_clip_norm / (norm + 1e-6)).
  double clip_grads();
  /// Where other processes have the other shares: adds up the squared norms of all.
  void set_norm_sum(std::function<double(double)> sum) { norm_sum_ = std::move(sum); }
  /// One update. @param lr  of this step, for all groups
  void step(double lr);
  /// @param lrs  one a group
  void step(std::span<const double> lrs);
  /// Drops all gradients.
  void zero_grad();

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const AdamWConfig& config() const { return config_; }

 private:
  AdamWConfig config_;
  std::vector<Slot> slots_;
  std::function<double(double)> norm_sum_;
};

}  // namespace flexor::optim
