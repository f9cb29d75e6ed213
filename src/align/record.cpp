#include "align/record.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/trainable.h"
#include "nn/param_visitor.h"
#include "tensor/tap.h"
#include "tensor/tensor.h"

namespace flexor::align {
namespace {

/// What was recorded, in order; the first tensor of a name stays.
class Recording {
 public:
  void add(std::string_view name, const Tensor& tensor) {
    if (tensor.defined() && names_.emplace(name).second) {
      tensors_.emplace_back(std::string(name), tensor.detach().to(at::kCPU).clone());
    }
  }
  TapRecorder::Sink sink() {
    return [this](std::string_view name, const Tensor& tensor) { add(name, tensor); };
  }
  std::vector<NamedTensor> take() { return std::move(tensors_); }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<NamedTensor> tensors_;
};

/// Puts the model's options back.
class OptionsGuard {
 public:
  explicit OptionsGuard(models::PolicyModel& model) : model_(model), saved_(model.options()) {}
  ~OptionsGuard() { model_.options() = saved_; }
  OptionsGuard(const OptionsGuard&) = delete;
  OptionsGuard& operator=(const OptionsGuard&) = delete;

 private:
  models::PolicyModel& model_;
  models::ComputeOptions saved_;
};

class GradientRecorder : public nn::ParamVisitor {
 public:
  explicit GradientRecorder(Recording& recording) : recording_(recording) {}
  /// Norm over all gradients: that of the norms of each, in float32 as torch.nn.utils.clip_grad_norm_ computes it.
  Tensor total_norm() const { return at::linalg_vector_norm(at::stack(norms_)); }
  bool empty() const { return norms_.empty(); }

 protected:
  void visit(const std::string& name, Tensor& parameter) override {
    const Tensor& gradient = parameter.grad();
    if (gradient.defined()) {
      recording_.add(str_cat("grad.", name), gradient);
      norms_.push_back(at::linalg_vector_norm(gradient).to(at::kFloat));
      parameter.mutable_grad() = Tensor();
    }
  }

 private:
  Recording& recording_;
  std::vector<Tensor> norms_;
};

void record_training(models::PolicyModel& model, const schema::BatchFile& file, bool backward, Recording& recording) {
  if (!file.batch.action.defined()) {
    throw Error(ErrorKind::kData, "the batch has no tensor 'action'", file.path);
  }
  const at::AutoGradMode gradients(backward);
  if (backward) {
    models::set_trainable(model);
  }
  models::LossOutput output;
  {
    const TapRecorder recorder(recording.sink());
    const at::Device device = file.batch.tokens.device();
    output = model.loss(file.batch, file.at("noise").to(device), file.at("time").to(device));
  }
  recording.add("loss", output.loss);
  recording.add("loss_per_sample", output.per_sample);
  recording.add("loss_per_dim", output.per_dim);
  if (backward) {
    output.loss.backward();
    GradientRecorder gradients_of(recording);
    model.params(gradients_of);
    if (!gradients_of.empty()) {
      recording.add("grad_norm_total", gradients_of.total_norm());
    }
  }
}

void record_sampling(models::PolicyModel& model, const schema::BatchFile& file, Recording& recording) {
  const at::NoGradGuard no_gradients;
  const Tensor noise = file.at(file.has("sample_noise") ? "sample_noise" : "noise").to(file.batch.tokens.device());
  models::SampleOptions options{.num_steps = model.config().num_inference_steps, .rtc = std::nullopt};
  Tensor actions;
  {
    const TapRecorder recorder(recording.sink());
    actions = model.sample(file.batch, noise, options);
  }
  recording.add("sampled_actions", actions);
  recording.add("predict_action_chunk", actions.narrow(-1, 0, model.config().action_dim()));
  options.num_steps = 4;
  recording.add("sampled_actions_4steps", model.sample(file.batch, noise, options));
}

}  // namespace

std::vector<NamedTensor> record(models::PolicyModel& model, const schema::BatchFile& file,
                                const RecordOptions& options) {
  const OptionsGuard guard(model);
  model.options().exact_savings = options.savings;
  Recording recording;
  record_training(model, file, options.backward, recording);
  record_sampling(model, file, recording);
  return recording.take();
}

}  // namespace flexor::align
