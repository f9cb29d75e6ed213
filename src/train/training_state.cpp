#include "train/training_state.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::train {

namespace {

constexpr const char* kFilesKey = "flexor_files";

std::string path_of(const CheckpointRef& checkpoint, const std::string& name) {
  return checkpoint.training_state() + "/" + name;
}

std::string remedy(const CheckpointRef& checkpoint) {
  return str_cat("restore the file, or remove ", checkpoint.folder, " to continue from an older checkpoint");
}

/// What `read` returns; its errors get the file's name and a way out.
template <typename Read>
auto reading(const CheckpointRef& checkpoint, const std::string& name, Read read) {
  const std::string path = path_of(checkpoint, name);
  try {
    check_input_file(path);
    return read(path);
  } catch (const Error& error) {
    const ErrorKind kind = error.kind() == ErrorKind::kFile ? ErrorKind::kFile : ErrorKind::kCheckpoint;
    throw Error(kind, error.what(), error.where().empty() ? path : error.where(), remedy(checkpoint));
  }
}

Json read_step_file(const CheckpointRef& checkpoint) {
  return reading(checkpoint, "training_step.json", [](const std::string& path) {
    Json json = Json::read_file(path);
    const int64_t step = json.at("step").as_int();
    if (step < 0) {
      throw Error(ErrorKind::kCheckpoint, str_cat("expected a step of at least 0, found ", step));
    }
    return json;
  });
}

/// The only value of a tensor.
template <typename T>
T scalar(const SafetensorsFile& file, const char* name) {
  const Tensor tensor = file.get(name);
  if (tensor.numel() != 1) {
    throw Error(ErrorKind::kCheckpoint, str_cat("tensor '", name, "' has ", tensor.numel(), " values, expected 1"),
                file.path());
  }
  return tensor.item<T>();
}

/// Counters of a checkpoint that LeRobot wrote.
Progress lerobot_progress(const CheckpointRef& checkpoint) {
  const Json json = read_step_file(checkpoint);
  return reading(checkpoint, "training_step.json", [&](const std::string&) {
    const auto factor = [&](const char* key, const char* other = "") {
      const Json* value = json.find(key) != nullptr ? json.find(key) : json.find(other);
      return value != nullptr ? value->as_int() : 1;
    };
    Progress progress;
    progress.step = json.at("step").as_int();
    progress.samples =
        progress.step * factor("num_processes", "dp_world_size") * factor("batch_size") * factor("grad_accum_steps");
    return progress;
  });
}

void refuse_other_step(int64_t found, int64_t expected) {
  if (found != expected) {
    throw Error(ErrorKind::kCheckpoint, str_cat("is of step ", found, ", training_step.json of step ", expected));
  }
}

void check_scheduler(const CheckpointRef& checkpoint, int64_t step) {
  reading(checkpoint, "scheduler_state.json", [&](const std::string& path) {
    const Json json = Json::read_file(path);
    json.at("base_lrs").as_numbers();
    json.at("_last_lr").as_numbers();
    refuse_other_step(json.at("last_epoch").as_int(), step);
  });
}

void check_param_groups(const CheckpointRef& checkpoint, size_t num_params) {
  reading(checkpoint, "optimizer_param_groups.json", [&](const std::string& path) {
    const Json json = Json::read_file(path);
    size_t count = 0;
    for (const Json& group : json.as_array()) {
      group.at("lr").as_double();
      count += group.at("params").as_numbers().size();
    }
    if (count != num_params) {
      throw Error(ErrorKind::kCheckpoint, str_cat("lists ", count, " parameters, the model has ", num_params));
    }
  });
}

void check_random_state(const CheckpointRef& checkpoint) {
  reading(checkpoint, "rng_state.safetensors", [](const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    file.get("torch_rng_state");
  });
}

}  // namespace

Json training_step(const Progress& progress, int64_t world, int64_t batch_size, const std::vector<std::string>& files) {
  return Json::object(
      {{"step", progress.step}, {"num_processes", world}, {"batch_size", batch_size}, {kFilesKey, Json(files)}});
}

bool is_flexor_checkpoint(const CheckpointRef& checkpoint) {
  const Json step = read_step_file(checkpoint);
  return step.find(kFilesKey) != nullptr || std::filesystem::exists(path_of(checkpoint, kStateFile));
}

void check_training_state(const CheckpointRef& checkpoint, size_t num_params) {
  const Json step = read_step_file(checkpoint);
  if (const Json* files = step.find(kFilesKey)) {
    const auto names =
        reading(checkpoint, "training_step.json", [&](const std::string&) { return files->as_strings(); });
    for (const std::string& name : names) {
      reading(checkpoint, name, [](const std::string& path) { SafetensorsFile::open(path); });
    }
  }
  reading(checkpoint, "optimizer_state.safetensors", [](const std::string& path) { SafetensorsFile::open(path); });
  check_scheduler(checkpoint, step.at("step").as_int());
  check_param_groups(checkpoint, num_params);
  check_random_state(checkpoint);
}

Progress read_progress(const CheckpointRef& checkpoint) {
  if (!is_flexor_checkpoint(checkpoint)) {
    return lerobot_progress(checkpoint);
  }
  const int64_t step = read_step_file(checkpoint).at("step").as_int();
  return reading(checkpoint, kStateFile, [&](const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    Progress progress{.step = scalar<int64_t>(file, "step"),
                      .samples = scalar<int64_t>(file, "samples"),
                      .elapsed_s = scalar<double>(file, "elapsed_s"),
                      .schedule_steps = scalar<int64_t>(file, "schedule_steps"),
                      .recent_losses = {}};
    refuse_other_step(progress.step, step);
    const Tensor losses = file.get("recent_losses").to(at::kDouble).flatten().contiguous();
    progress.recent_losses.assign(losses.const_data_ptr<double>(), losses.const_data_ptr<double>() + losses.numel());
    return progress;
  });
}

std::optional<data::SamplerState> read_position(const CheckpointRef& checkpoint) {
  if (!is_flexor_checkpoint(checkpoint)) {
    return std::nullopt;
  }
  return reading(checkpoint, kStateFile, [](const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    return data::SamplerState{scalar<int64_t>(file, "epoch"), scalar<int64_t>(file, "start_index")};
  });
}

void check_same_data(const CheckpointRef& checkpoint, const DataSize& data) {
  if (!is_flexor_checkpoint(checkpoint)) {
    return;
  }
  const auto before = reading(checkpoint, kStateFile, [](const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    return DataSize{scalar<int64_t>(file, "num_frames"), scalar<int64_t>(file, "num_episodes")};
  });
  if (before.num_frames != data.num_frames || before.num_episodes != data.num_episodes) {
    throw Error(
        ErrorKind::kData,
        str_cat("the data have ", data.num_frames, " frames of ", data.num_episodes,
                " episodes to train on, the run was started with ", before.num_frames, " of ", before.num_episodes),
        checkpoint.folder,
        str_cat("restore the dataset, or start a new run from its weights: policy.path=", checkpoint.pretrained(),
                " with another output_dir"));
  }
}

}  // namespace flexor::train
