#pragma once
#include <ATen/core/Tensor.h>

#include "models/flow_net.h"
#include "models/policy_model.h"
#include "schema/policy_config.h"

namespace flexor::models {

/// pi0 (arXiv:2410.24164) and pi0.5 (arXiv:2504.16054): a velocity field over action chunks, learned by flow matching.
class FlowPolicy : public PolicyModel {
 public:
  FlowPolicy(const schema::PolicyConfig& config, const ComputeOptions& options);

  const schema::PolicyConfig& config() const override { return config_; }
  ComputeOptions& options() override { return options_; }
  void params(nn::ParamVisitor& visitor) override { net_.params(visitor); }
  FlowNet& net() { return net_; }
  ModelBlocks blocks() const override { return net_.blocks(); }
  LossOutput loss(const schema::Batch& batch, const at::Tensor& noise, const at::Tensor& time) override;
  at::Tensor sample(const schema::Batch& batch, const at::Tensor& noise, const SampleOptions& options) override;

 private:
  at::Tensor project_out(const at::Tensor& suffix_out) const;

  schema::PolicyConfig config_;
  ComputeOptions options_;
  FlowNet net_;
};

}  // namespace flexor::models
