#include "optim/optimizer_state.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::optim {

namespace {

constexpr const char* kStateFile = "/optimizer_state.safetensors";

Json param_group(const AdamW& optimizer, double lr) {
  const AdamWConfig& config = optimizer.config();
  Json params = Json::array();
  for (size_t i = 0; i < optimizer.slots().size(); ++i) {
    params.push_back(Json(i));
  }
  return Json::object({{"lr", lr},
                       {"betas", Json(Json::Array{Json(config.betas[0]), Json(config.betas[1])})},
                       {"eps", config.eps},
                       {"weight_decay", config.weight_decay},
                       {"amsgrad", false},
                       {"maximize", false},
                       {"foreach", nullptr},
                       {"capturable", false},
                       {"differentiable", false},
                       {"fused", nullptr},
                       {"decoupled_weight_decay", true},
                       {"initial_lr", config.lr},
                       {"params", params}});
}

/// "state/<index>/<field>" -> index; the field in `field`.
size_t parse_key(const std::string& key, const AdamW& optimizer, const std::string& path, std::string& field) {
  const std::string_view prefix = "state/";
  const size_t slash = key.rfind('/');
  size_t index = 0;
  const char* first = key.data() + prefix.size();
  const char* last = key.data() + std::max(slash, prefix.size());
  const bool ok = key.starts_with(prefix) && slash > prefix.size() && std::from_chars(first, last, index).ptr == last;
  if (!ok || index >= optimizer.slots().size()) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("unexpected tensor '", key, "', the model has ", optimizer.slots().size(), " parameters"), path,
                "the training state belongs to another model");
  }
  field = key.substr(slash + 1);
  return index;
}

Tensor copy_for(const Slot& slot, const Tensor& stored, const std::string& key, const std::string& path) {
  if (stored.sizes() != at::IntArrayRef(slot.shape)) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("tensor '", key, "' has shape ", str_cat(stored.sizes()), ", parameter ", slot.name, " has ",
                        str_cat(at::IntArrayRef(slot.shape))),
                path, "the training state belongs to another model");
  }
  return slot.share_of(stored).to(slot.source().options().requires_grad(false), /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

void save_optimizer(const AdamW& optimizer, double lr, const std::string& folder) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < optimizer.slots().size(); ++i) {
    const Slot& slot = optimizer.slots()[i];
    if (slot.exp_avg.defined()) {
      tensors.emplace_back(str_cat("state/", i, "/step"), slot.steps);
      tensors.emplace_back(str_cat("state/", i, "/exp_avg"), slot.exp_avg);
      tensors.emplace_back(str_cat("state/", i, "/exp_avg_sq"), slot.exp_avg_sq);
    }
  }
  write_safetensors(folder + kStateFile, tensors);
  Json groups = Json::array();
  groups.push_back(param_group(optimizer, lr));
  write_file_atomic(folder + "/optimizer_param_groups.json", groups.dump(4));
}

void load_optimizer(AdamW& optimizer, const std::string& folder) {
  const std::string path = folder + kStateFile;
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    std::string field;
    Slot& slot = optimizer.slots()[parse_key(entry.name, optimizer, path, field)];
    const Tensor stored = file.get(entry.name);
    if (field == "exp_avg") {
      slot.exp_avg = copy_for(slot, stored, entry.name, path);
    } else if (field == "exp_avg_sq") {
      slot.exp_avg_sq = copy_for(slot, stored, entry.name, path);
    } else if (field == "step") {
      slot.steps = stored.reshape({}).to(slot.source().options().dtype(at::kFloat).requires_grad(false),
                                         /*non_blocking=*/false, /*copy=*/true);
    }
  }
  for (const Slot& slot : optimizer.slots()) {
    if (slot.exp_avg.defined() != slot.exp_avg_sq.defined() || slot.exp_avg.defined() != slot.steps.defined()) {
      throw Error(ErrorKind::kCheckpoint,
                  str_cat("step, exp_avg and exp_avg_sq of parameter ", slot.name, " must all be there"), path);
    }
  }
}

Json scheduler_state(double peak_lr, double lr, int64_t step) {
  return Json::object({{"base_lrs", Json(Json::Array{Json(peak_lr)})},
                       {"last_epoch", step},
                       {"_step_count", step + 1},
                       {"_is_initial", false},
                       {"_get_lr_called_within_step", false},
                       {"_last_lr", Json(Json::Array{Json(lr)})},
                       {"lr_lambdas", Json(Json::Array{Json()})}});
}

Json scheduler_state(const LrSchedule& schedule, int64_t step) {
  return scheduler_state(schedule.peak_lr(), schedule.lr(step), step);
}

}  // namespace flexor::optim
