#include "recap/value_checkpoint.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "models/value_weights.h"
#include "optim/optimizer_state.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "global_step_";
constexpr const char* kStateFile = "/value_state.json";

/// N of "global_step_N".
std::optional<int64_t> step_of(const std::string& name) {
  int64_t step = 0;
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const char *first = name.data() + kPrefix.size(), *last = name.data() + name.size();
  const auto [end, code] = std::from_chars(first, last, step);
  return code == std::errc() && end == last && step >= 0 ? std::optional(step) : std::nullopt;
}

std::string state_folder(const std::string& checkpoint) {
  return checkpoint + "/training_state";
}

Json state_json(const train::Progress& progress, const BestValue& best, int64_t world) {
  Json losses = Json::array();
  for (const double loss : progress.recent_losses) {
    losses.push_back(loss);
  }
  return Json::object({{"step", progress.step},
                       {"samples", progress.samples},
                       {"elapsed_s", progress.elapsed_s},
                       {"world", world},
                       {"recent_losses", losses},
                       {"best_step", best.step},
                       {"best_loss", best.step < 0 ? Json() : Json(best.loss)}});
}

[[noreturn]] void refuse(const fs::filesystem_error& error) {
  throw Error(ErrorKind::kFile, error.code().message(), error.path1().string());
}

}  // namespace

std::string ValueRun::checkpoint(int64_t step) const {
  return str_cat(checkpoints(), "/", kPrefix, step);
}

std::optional<std::string> ValueRun::newest() const {
  int64_t newest = -1;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints(), ignored)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && *step > newest && fs::is_regular_file(state_folder(entry.path().string()) + kStateFile)) {
      newest = *step;
    }
  }
  return newest < 0 ? std::nullopt : std::optional(checkpoint(newest));
}

std::string ValueRun::best() const {
  for (const char* link : {"/best", "/last"}) {
    if (const std::string path = checkpoints() + link; fs::is_directory(path)) {
      return fs::canonical(path).string();
    }
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
  const std::string target = checkpoint(step);
  try {
    StagedFolder staged(target);
    write_model(staged.path());
    tokenizer.save(staged.path());
    const std::string training = state_folder(staged.path());
    fs::create_directories(training);
    optim::save_optimizer(state.optimizer, state.next_lr, training);
    write_file_atomic(training + kStateFile, state_json(state.progress, best, state.world).dump(2));
    staged.commit();
    const std::string name = fs::path(target).filename().string();
    point("last", name);
    if (best.step == step) {
      point("best", name);
    }
  } catch (const fs::filesystem_error& error) {
    refuse(error);
  }
  return target;
}

void ValueRun::point(const std::string& link, const std::string& name) const {
  const fs::path temporary = fs::path(checkpoints()) / str_cat(link, ".tmp.", name);
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fs::create_directory_symlink(name, temporary);
  fs::rename(temporary, fs::path(checkpoints()) / link);
}

void ValueRun::remove(int64_t step) const {
  std::error_code ignored;
  fs::remove_all(checkpoint(step), ignored);
}

void ValueRun::clear() const {
  try {
    if (fs::is_directory(checkpoints())) {
      for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints())) {
        const std::string name = entry.path().filename().string();
        if (!step_of(name) && !entry.is_symlink() && name.find(".tmp") == std::string::npos) {
          throw Error(ErrorKind::kFile,
                      str_cat("'", name, "' is no checkpoint: the folder is not that of a value model"), checkpoints(),
                      "give another output_dir");
        }
      }
      log_warn("an earlier value model is replaced", {{"folder", folder_}});
      fs::remove_all(checkpoints());
    }
    fs::remove(folder_ + "/metrics.jsonl");
  } catch (const fs::filesystem_error& error) {
    refuse(error);
  }
}

train::Progress load_value_state(const std::string& checkpoint, optim::AdamW& optimizer, BestValue& best) {
  const std::string folder = state_folder(checkpoint);
  const Json json = Json::read_file(folder + kStateFile);
  optim::load_optimizer(optimizer, folder);
  train::Progress progress{.step = json.at("step").as_int(),
                           .samples = json.at("samples").as_int(),
                           .elapsed_s = json.at("elapsed_s").as_double(),
                           .schedule_steps = 0,
                           .recent_losses = {}};
  for (const Json& loss : json.at("recent_losses").as_array()) {
    progress.recent_losses.push_back(loss.as_double());
  }
  if (!json.at("best_loss").is_null()) {
    best = {.step = json.at("best_step").as_int(), .loss = json.at("best_loss").as_double()};
  }
  return progress;
}

}  // namespace flexor::recap
