#include "train/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/file_errors.h"
#include "base/str_cat.h"
#include "models/weights.h"
#include "optim/optimizer_state.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "train/lerobot_train_config.h"
#include "train/policy_setup.h"
#include "train/python_rng.h"
#include "train/training_state.h"

namespace flexor::train {

namespace fs = std::filesystem;

namespace {

/// Processor files and tokenizer of a policy folder, if it has any.
void copy_processor(const std::string& from, const std::string& to) {
  if (from.empty() || !fs::is_directory(from)) {
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool wanted = name.starts_with("policy_preprocessor") || name.starts_with("policy_postprocessor") ||
                        name.starts_with("tokenizer");
    if (wanted) {
      fs::copy(entry.path(), fs::path(to) / name, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
  }
}

void write_policy(const CheckpointParts& parts, const std::string& folder) {
  fs::create_directories(folder);
  models::save_weights(parts.model, folder + "/model.safetensors");
  const Json policy = schema::to_json(parts.policy);
  write_file_atomic(folder + "/config.json", policy.dump(4));
  write_file_atomic(folder + "/train_config.json",
                    lerobot_train_config(parts.config, policy, parts.lerobot_config).dump(4));
  if (parts.processor != nullptr) {
    parts.processor->save(folder);
  } else {
    copy_processor(parts.processor_source, folder);
  }
}

std::vector<NamedTensor> state_tensors(const CheckpointParts& parts) {
  const Progress& p = parts.progress;
  const auto whole = [](int64_t value) { return at::scalar_tensor(value, at::kLong); };
  const std::vector<double> losses(p.recent_losses.begin(), p.recent_losses.end());
  return {{"step", whole(p.step)},
          {"samples", whole(p.samples)},
          {"seed", whole(parts.config.seed)},
          {"epoch", whole(parts.position.epoch)},
          {"start_index", whole(parts.position.start_index)},
          {"num_frames", whole(parts.position.data.num_frames)},
          {"num_episodes", whole(parts.position.data.num_episodes)},
          {"schedule_steps", whole(p.schedule_steps)},
          {"elapsed_s", at::scalar_tensor(p.elapsed_s, at::kDouble)},
          {"recent_losses", at::tensor(losses, at::kDouble)}};
}

void write_training_state(const CheckpointParts& parts, const std::string& folder) {
  fs::create_directories(folder);
  const Progress& progress = parts.progress;
  optim::save_optimizer(parts.optimizer, parts.next_lr, folder);
  write_file_atomic(folder + "/scheduler_state.json",
                    optim::scheduler_state(parts.peak_lr, parts.next_lr, progress.step).dump(4));
  write_rng_state(static_cast<uint64_t>(parts.config.seed + progress.step), folder + "/rng_state.safetensors");
  std::vector<NamedTensor> masters, trained;
  for (const optim::Slot& slot : parts.optimizer.slots()) {
    if (slot.master.defined()) {
      masters.emplace_back(slot.name, slot.master);
    }
    if (slot.param.requires_grad()) {
      trained.emplace_back(slot.name, slot.param.detach());
    }
  }
  std::vector<std::string> files;
  const auto write = [&](const char* name, std::span<const NamedTensor> tensors) {
    write_safetensors(folder + "/" + name, tensors);
    files.emplace_back(name);
  };
  write(kStateFile, state_tensors(parts));
  if (!masters.empty()) {
    write(kMastersFile, masters);
  }
  if (parts.config.lora.enable) {
    write(kParamsFile, trained);
  }
  if (parts.ema != nullptr) {
    write(kEmaFile, parts.ema->averages());
  }
  write_file_atomic(folder + "/training_step.json",
                    training_step(progress, parts.world, parts.config.batch_size, files).dump(4));
}

void point_last(const std::string& checkpoints, const std::string& name) {
  const fs::path temporary = fs::path(checkpoints) / "last.tmp";  // one name, so that the leftover of a killed run goes
  std::error_code code;
  fs::remove(temporary, code);
  fs::create_directory_symlink(name, temporary, code);
  if (!code) {
    fs::rename(temporary, fs::path(checkpoints) / "last", code);
  }
  if (code) {
    throw_file_error("cannot make the link", checkpoints + "/last", code.value());
  }
}

/// What belongs to a slot of a file's tensor for its parameter. @throws Error(kCheckpoint) if the shape differs
Tensor fitting(const SafetensorsFile& file, const optim::Slot& slot) {
  const Tensor stored = file.get(slot.name);
  if (stored.sizes() != at::IntArrayRef(slot.shape)) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("tensor '", slot.name, "' has shape ", str_cat(stored.sizes()), ", the model expects ",
                        str_cat(at::IntArrayRef(slot.shape))),
                file.path());
  }
  return slot.share_of(stored);
}

bool has_masters(const optim::AdamW& optimizer) {
  const std::vector<optim::Slot>& slots = optimizer.slots();
  return std::any_of(slots.begin(), slots.end(), [](const optim::Slot& slot) { return slot.master.defined(); });
}

void load_masters(optim::AdamW& optimizer, const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (optim::Slot& slot : optimizer.slots()) {
    if (slot.master.defined()) {
      slot.master.copy_(fitting(file, slot));
    }
  }
}

void load_params(optim::AdamW& optimizer, const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  for (optim::Slot& slot : optimizer.slots()) {
    if (slot.param.requires_grad()) {
      slot.param.detach().copy_(fitting(file, slot));
    }
  }
}

/// The averages have the order of the trained parameters.
void load_averages(optim::Ema& ema, const optim::AdamW& optimizer, const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  size_t next = 0;
  for (const optim::Slot& slot : optimizer.slots()) {
    if (slot.param.requires_grad()) {
      ema.averages()[next++].second.copy_(fitting(file, slot));
    }
  }
}

}  // namespace

void write_checkpoint(const CheckpointParts& parts, const std::string& folder) {
  const at::NoGradGuard no_graph;
  try {
    write_policy(parts, folder + "/pretrained_model");
    if (parts.ema != nullptr) {
      const SwappedParams averaged(parts.model, parts.ema->averages());
      write_policy(parts, folder + "/pretrained_model_ema");
    }
    write_training_state(parts, folder + "/training_state");
  } catch (const fs::filesystem_error& error) {
    throw_file_error("cannot write the checkpoint", error.path1().string(), error.code().value());
  }
}

std::string save_checkpoint(const CheckpointParts& parts) {
  const std::string checkpoints = parts.config.output_dir + "/checkpoints";
  const std::string name = checkpoint_name(parts.progress.step, parts.config.steps);
  StagedFolder staged(checkpoints + "/" + name);
  write_checkpoint(parts, staged.path());
  staged.commit();
  point_last(checkpoints, name);
  return checkpoints + "/" + name;
}

Progress load_checkpoint(const CheckpointRef& checkpoint, models::PolicyModel& model, optim::AdamW& optimizer,
                         optim::Ema* ema, bool is_lora) {
  const at::NoGradGuard no_graph;
  const std::string folder = checkpoint.training_state() + "/";
  check_training_state(checkpoint, optimizer.slots().size());
  if (is_lora) {
    load_params(optimizer, folder + kParamsFile);
  }
  optim::load_optimizer(optimizer, checkpoint.training_state());
  if (fs::exists(folder + kMastersFile)) {
    load_masters(optimizer, folder + kMastersFile);
  } else if (has_masters(optimizer) && is_flexor_checkpoint(checkpoint)) {
    check_input_file(folder + kMastersFile);  // only runs of LeRobot have none
  } else {
    sharpen_masters(optimizer, checkpoint.pretrained(), model.config().is_pi05());
  }
  if (ema != nullptr) {
    load_averages(*ema, optimizer, folder + kEmaFile);
  }
  return read_progress(checkpoint);
}

}  // namespace flexor::train
