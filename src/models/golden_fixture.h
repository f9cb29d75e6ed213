#pragma once
// For tests only: a tiny policy of tests/golden with its batch and its expected values.
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/str_cat.h"
#include "models/policy_model.h"
#include "models/trainable.h"
#include "models/weights.h"
#include "schema/batch_file.h"
#include "schema/policy_config.h"
#include "tensor/safetensors.h"
#include "tensor/tap.h"

namespace flexor::models {

struct GoldenPolicy {
  std::string folder;
  std::unique_ptr<PolicyModel> model;
  schema::BatchFile inputs;
  SafetensorsFile expected;
  Json meta;

  /// @param kind   "pi0" or "pi05"
  /// @param dtype  of the model; "bfloat16" compares with expected_bf16.safetensors
  static GoldenPolicy open(const std::string& kind, const std::string& dtype = "float32", ComputeOptions options = {}) {
    const std::string folder = str_cat(FLEXOR_TESTS_DIR, "/golden/", kind, "_tiny/");
    auto config = schema::policy_config_from_json(Json::read_file(folder + "config.json"), folder + "config.json");
    config.dtype = dtype;
    GoldenPolicy golden{
        folder, make_policy(config, options), schema::read_batch_file(folder + "inputs.safetensors"),
        SafetensorsFile::open(str_cat(folder, dtype == "float32" ? "expected" : "expected_bf16", ".safetensors")),
        Json::read_file(folder + "meta.json")};
    load_weights(*golden.model, folder + "model.safetensors");
    set_trainable(*golden.model);
    return golden;
  }
  LossOutput loss() { return model->loss(inputs.batch, inputs.at("noise"), inputs.at("time")); }
  at::Tensor sample(const SampleOptions& options = {}) {
    return model->sample(inputs.batch, inputs.at("sample_noise"), options);
  }
  at::Tensor want(const std::string& name) const { return expected.get(name); }
};

/// What the model reports while `work` runs, by name.
template <typename Work>
std::map<std::string, at::Tensor> record(const Work& work) {
  std::map<std::string, at::Tensor> taps;
  const TapRecorder recorder([&](std::string_view name, const at::Tensor& tensor) {
    taps.insert_or_assign(std::string(name), tensor.detach());
  });
  work();
  return taps;
}

/// Name of a test case: "pi0", "pi05".
template <typename Info>
std::string kind_of(const Info& info) {
  return info.param;
}

/// Every float32 run of the reference must be met by the explicit attention and by the fused one.
inline ComputeOptions without_savings(bool fused) {
  return {.exact_savings = false, .fused_attention = fused};
}

}  // namespace flexor::models
