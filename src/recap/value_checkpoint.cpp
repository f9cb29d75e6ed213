#include "recap/value_checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "models/value_weights.h"
#include "optim/optimizer_state.h"
#include "recap/file_hashes.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainingState = "/training_state";

/// The model's files by their content: another training under the same name is not the same model, and the same
/// training leaves the same words in the sidecars.
Json hashes_of(const std::string& checkpoint) {
  FileHashes hashes;
  Json files = Json::object();
  if (fs::is_regular_file(checkpoint)) {
    files[fs::path(checkpoint).filename().string()] = hashes.file(checkpoint);
    return files;
  }
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    const std::string name = entry.path().lexically_relative(checkpoint).generic_string();
    if (entry.is_regular_file() && !name.starts_with("training_state/")) {
      files[name] = hashes.file(entry.path().string());
    }
  }
  std::ranges::sort(files.as_object(), {}, &Json::Member::first);
  return files;
}

Json state_json(const train::Progress& progress, const BestValue& best, int64_t world) {
  Json losses = Json::array();
  for (const double loss : progress.recent_losses) {
    losses.push_back(loss);
  }
  Json state = Json::object({{"step", progress.step},
                             {"samples", progress.samples},
                             {"elapsed_s", progress.elapsed_s},
                             {"world", world},
                             {"recent_losses", losses}});
  add_validation_due(state, progress);
  add_best(state, best);
  return state;
}

}  // namespace

Json judge_identity(const std::string& checkpoint, const std::string& precision) {
  return Json::object({{"checkpoint", fs::weakly_canonical(checkpoint).string()},
                       {"files", hashes_of(checkpoint)},
                       {"precision", precision}});
}

std::string ValueRun::best() const {
  if (const auto found = best_or_last()) {
    return *found;
  }
  throw Error(ErrorKind::kFile, "no checkpoint of a value model", checkpoints(),
              "flexor recap value --config FILE, or advantage.value_checkpoint=DIR");
}

std::string ValueRun::save(models::ValueModel& model, const data::Tokenizer& tokenizer, const train::LoopState& state,
                           const BestValue& best) const {
  const auto write_model = [&](const std::string& folder) {
    models::save_value_weights(model, folder + "/model.safetensors");
    write_file_atomic(folder + "/config.json", models::to_json(model.config()).dump(2));
  };
  return save(state.progress.step, write_model, tokenizer, state, best);
}

std::string ValueRun::save(int64_t step, const std::function<void(const std::string& folder)>& write_model,
                           const data::Tokenizer& tokenizer, const train::LoopState& state,
                           const BestValue& best) const {
  const at::NoGradGuard no_graph;
  const auto fill = [&](const std::string& folder) {
    write_model(folder);
    tokenizer.save(folder);
    fs::create_directories(folder + kTrainingState);
    optim::save_optimizer(state.optimizer, state.next_lr, folder + kTrainingState);
    write_file_atomic(state_file(folder), state_json(state.progress, best, state.world).dump(2));
  };
  return TrainingFolder::save(step, fill, best);
}

train::Progress load_value_state(const std::string& checkpoint, optim::AdamW& optimizer, BestValue& best) {
  const std::string folder = checkpoint + kTrainingState;
  const Json json = read_state(folder + "/value_state.json");
  optim::load_optimizer(optimizer, folder);
  train::Progress progress{.step = json.at("step").as_int(),
                           .samples = json.at("samples").as_int(),
                           .elapsed_s = json.at("elapsed_s").as_double(),
                           .schedule_steps = 0,
                           .recent_losses = {}};
  for (const Json& loss : json.at("recent_losses").as_array()) {
    progress.recent_losses.push_back(loss.as_double());
  }
  progress.validation_due = validation_due_of(json);
  best = best_of(json);
  return progress;
}

}  // namespace flexor::recap
