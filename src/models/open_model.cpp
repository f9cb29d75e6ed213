#include "models/open_model.h"

#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "schema/openpi_policy.h"

namespace flexor::models {
namespace {

constexpr const char* kDtypes = "float32, bfloat16 or bfloat16_autocast";

void set_dtype(const std::string& dtype, schema::PolicyConfig& config, ComputeOptions& compute) {
  if (dtype != "float32" && dtype != "bfloat16" && dtype != "bfloat16_autocast") {
    throw Error(ErrorKind::kConfig, str_cat("unknown dtype '", dtype, "'"), {}, str_cat("one of ", kDtypes));
  }
  compute.autocast = dtype == "bfloat16_autocast";
  config.dtype = compute.autocast ? "float32" : dtype;
}

/// What is wrong about a policy's config.json is a fault of that file.
void check_sizes(const schema::PolicyConfig& config, const std::string& folder) {
  std::vector<config::Finding> findings = schema::check(config, "");
  if (findings.empty()) {
    return;
  }
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  for (config::Finding& finding : findings) {
    finding.where = file;
    finding.hint = "copy config.json from the policy again, or put the value right";
  }
  throw config::to_error(findings, ErrorKind::kCheckpoint);
}

}  // namespace

std::unique_ptr<PolicyModel> open_model(const std::string& folder, const std::optional<std::string>& dtype,
                                        ComputeOptions compute, const LoadOptions& load) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(
        ErrorKind::kFile, "no such policy folder", folder,
        "give the folder that holds config.json and model.safetensors: RUN_DIR/checkpoints/last/pretrained_model");
  }
  return open_model(folder, schema::read_policy_config(folder), dtype, compute, load);
}

std::unique_ptr<PolicyModel> open_model(const std::string& folder, schema::PolicyConfig config,
                                        const std::optional<std::string>& dtype, ComputeOptions compute,
                                        const LoadOptions& load) {
  check_sizes(config, folder);
  set_dtype(dtype.value_or(config.dtype), config, compute);
  std::unique_ptr<PolicyModel> model = make_policy(config, compute);
  load_weights(*model, folder, load);
  return model;
}

}  // namespace flexor::models
