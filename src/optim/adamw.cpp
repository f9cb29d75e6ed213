#include "optim/adamw.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/field_table.h"
#include "tensor/large_buffer.h"
#include "tensor/tensor.h"

namespace flexor::optim {

constexpr double kMaxBeta = 1.0 - 1e-9;  // with 1 the moments stay zero and their bias correction divides zero by zero

void fields(config::FieldTable& table, AdamWConfig& config) {
  table("lr", config.lr, "peak learning rate").range(0, 1e3);
  table("betas", config.betas, "decay of the two moments, below 1").range(0, kMaxBeta);
  table("eps", config.eps, "added to the denominator, above 0").range(1e-30, 1);
  table("weight_decay", config.weight_decay, "decoupled weight decay of all parameters").range(0, 1e3);
  table("grad_clip_norm", config.grad_clip_norm, "largest global norm of the gradient; 0: no clipping").range(0, 1e12);
  table("master_dtype", config.master_dtype,
        "copy in which bfloat16 parameters are updated; none: updated in place, as LeRobot does")
      .choices({"float32", "none"});
}

namespace {

/// Gradient to apply to the slot's source, or undefined.
const Tensor& gradient(const Slot& slot) {
  return slot.master.defined() ? slot.grad32 : slot.param.grad();
}

/// Parameters of one dtype: what one call of the fused kernel takes.
struct Group {
  std::vector<Tensor> params, grads, exp_avgs, exp_avg_sqs, steps;
};

void add(Group& group, Slot& slot) {
  const Tensor source = slot.source().detach();
  if (!slot.exp_avg.defined()) {
    slot.exp_avg = lasting_zeros(source, source.scalar_type());
    slot.exp_avg_sq = lasting_zeros(source, source.scalar_type());
    slot.steps = at::zeros({}, source.options().dtype(at::kFloat));
  }
  group.params.push_back(source);
  group.grads.push_back(gradient(slot).contiguous());
  group.exp_avgs.push_back(slot.exp_avg);
  group.exp_avg_sqs.push_back(slot.exp_avg_sq);
  group.steps.push_back(slot.steps);
}

/// Of all gradients: a float32 norm each, added up in double. The device is waited for once.
double sum_of_squares(const std::vector<Slot>& slots) {
  std::vector<Tensor> norms;
  for (const Slot& slot : slots) {
    if (gradient(slot).defined()) {
      norms.push_back(at::linalg_vector_norm(gradient(slot), 2, {}, false, at::kFloat));
    }
  }
  if (norms.empty()) {
    return 0;
  }
  const Tensor all = at::stack(norms).cpu();
  double sum = 0;
  for (const float norm : std::span(all.const_data_ptr<float>(), norms.size())) {
    sum += double{norm} * norm;
  }
  return sum;
}

}  // namespace

Tensor Slot::share_of(const Tensor& whole) const {
  return param.sizes() == at::IntArrayRef(shape) ? whole : whole.reshape({-1}).narrow(0, first, param.numel());
}

AdamW::AdamW(std::vector<Slot> slots, const AdamWConfig& config) : config_(config), slots_(std::move(slots)) {}

AdamW::AdamW(const std::vector<std::pair<std::string, Tensor>>& params, const AdamWConfig& config) : config_(config) {
  if (config.master_dtype != "float32" && config.master_dtype != "none") {
    throw Error(ErrorKind::kConfig,
                str_cat("unknown master_dtype '", config.master_dtype, "', expected float32 or none"),
                "optimizer.master_dtype");
  }
  const at::NoGradGuard no_graph;
  slots_.reserve(params.size());
  for (const auto& [name, param] : params) {
    Slot& slot = slots_.emplace_back();
    slot.name = name;
    slot.shape = param.sizes().vec();
    slot.param = param;
    if (config.master_dtype == "float32" && param.requires_grad() && param.scalar_type() != at::kFloat) {
      slot.master = lasting_copy(param.detach(), at::kFloat);
    }
  }
}

void AdamW::collect_grads() {
  const at::NoGradGuard no_graph;
  for (Slot& slot : slots_) {
    Tensor& grad = slot.param.mutable_grad();
    if (!slot.master.defined() || !grad.defined()) {
      continue;
    }
    if (slot.grad32.defined()) {
      slot.grad32.add_(grad);
    } else {
      slot.grad32 = grad.to(at::kFloat);
    }
    grad.reset();
  }
}

double AdamW::clip_grads() {
  const at::NoGradGuard no_graph;
  const double sum = sum_of_squares(slots_);
  const double norm = std::sqrt(norm_sum_ ? norm_sum_(sum) : sum);
  const double scale = config_.grad_clip_norm > 0 ? config_.grad_clip_norm / (norm + 1e-6) : 1.0;
  if (scale < 1.0) {  // also skips a norm that is not finite; the caller stops then
    for (Slot& slot : slots_) {
      if (gradient(slot).defined()) {
        Tensor(gradient(slot)).mul_(static_cast<float>(scale));
      }
    }
  }
  return norm;
}

void AdamW::step(double lr) {
  size_t groups = 1;
  for (const Slot& slot : slots_) {
    groups = std::max(groups, slot.group + 1);
  }
  step(std::vector<double>(groups, lr));
}

void AdamW::step(std::span<const double> lrs) {
  const at::NoGradGuard no_graph;
  std::map<std::pair<at::ScalarType, size_t>, Group> groups;
  for (Slot& slot : slots_) {
    if (gradient(slot).defined()) {
      assert(slot.group < lrs.size());
      add(groups[{slot.source().scalar_type(), slot.group}], slot);
    }
  }
  for (auto& [key, group] : groups) {
    at::_foreach_add_(group.steps, 1.0);
    const double lr = lrs[key.second];
    at::_fused_adamw_(group.params, group.grads, group.exp_avgs, group.exp_avg_sqs, /*max_exp_avg_sqs=*/{}, group.steps,
                      lr, config_.betas[0], config_.betas[1], config_.weight_decay, config_.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
  for (Slot& slot : slots_) {
    if (slot.grad32.defined()) {
      slot.param.detach().copy_(slot.master);
    }
  }
}

void AdamW::zero_grad() {
  for (Slot& slot : slots_) {
    slot.grad32.reset();
    slot.param.mutable_grad().reset();
  }
}

}  // namespace flexor::optim
