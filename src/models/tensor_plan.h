#pragma once
#include <ATen/core/Tensor.h>
#include <map>
#include <string>
#include <vector>

#include "models/policy_model.h"
#include "models/weights.h"

namespace flexor::models {

/// Which tensor of a file fills which parameter; nothing is touched until apply().
class TensorPlan {
 public:
  explicit TensorPlan(PolicyModel& model);

  /// @param key  the tensor's name in the file  @return false if the model has no parameter of that name
  bool add(const std::string& parameter, const std::string& key, at::Tensor tensor);
  bool filled(const std::string& parameter) const { return sources_.contains(parameter); }
  /// Parameters without a source, in order. Adapters of LoRA are never expected.
  std::vector<std::string> missing() const;
  /// @throws Error(kCheckpoint) that lists every tensor whose shape does not fit
  void check_shapes(const std::string& path) const;
  /// Replaces the parameters' tensors; views of the file where dtype and device agree. @return how many
  int64_t apply();

 private:
  struct Source {
    std::string key;
    at::Tensor tensor;
  };
  PolicyModel& model_;
  std::map<std::string, Source, std::less<>> sources_;
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes_;
  std::vector<std::string> order_;
};

}  // namespace flexor::models
