#include "models/vlm_init.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/key_map.h"
#include "models/tensor_plan.h"
#include "tensor/tensor.h"
#include "tensor/torch_file.h"

namespace flexor::models {
LoadReport load_vlm(PolicyModel& model, const std::string& folder) {
  const std::string where = weights_file(folder);
  TensorPlan plan(model);
  LoadReport report;
  std::string embedding_key;
  for (const auto& [key, tensor] : read_tensor_file(where)) {
    const auto name = map_paligemma_key(key);
    if (!name || !plan.add(*name, key, tensor)) {
      report.unused.push_back(key);
      continue;
    }
    report.remapped.emplace_back(key, *name);
    if (*name == kEmbedding) {
      embedding_key = key;
    }
  }
  if (!plan.filled(kLmHead) &&
      !embedding_key.empty()) {  // PaliGemma ties the two; a mapping of its own, see weights.cpp
    plan.add(kLmHead, embedding_key, tensor_of_file(where, embedding_key));
    report.remapped.emplace_back(embedding_key, kLmHead);
  }
  for (const std::string& name : plan.missing()) {
    if (name.starts_with(kVlm)) {
      report.missing.push_back(name);
    }
  }
  plan.check_shapes(where);
  if (!report.missing.empty()) {
    throw Error(
        ErrorKind::kCheckpoint,
        str_cat("the PaliGemma lacks ", report.missing.size(), " tensors of the policy, first ", report.missing[0]),
        where, "policy.vlm_path wants a Hugging Face PaliGemma of the size that paligemma_variant names");
  }
  report.loaded = plan.apply();
  return report;
}

}  // namespace flexor::models
