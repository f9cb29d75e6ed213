#include "recap/training_folder.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "global_step_";

[[noreturn]] void refuse(const fs::filesystem_error& error) {
  throw Error(ErrorKind::kFile, error.code().message(), error.path1().string());
}

}  // namespace

std::optional<int64_t> TrainingFolder::step_of(const std::string& checkpoint) {
  const std::string name = fs::path(checkpoint).filename().string();
  int64_t step = 0;
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const char *first = name.data() + kPrefix.size(), *last = name.data() + name.size();
  const auto [end, code] = std::from_chars(first, last, step);
  return code == std::errc() && end == last && step >= 0 ? std::optional(step) : std::nullopt;
}

std::string TrainingFolder::checkpoint(int64_t step) const {
  return str_cat(checkpoints(), "/", kPrefix, step);
}

std::string TrainingFolder::state_file(const std::string& checkpoint) const {
  return str_cat(checkpoint, "/training_state/", state_file_);
}

std::string TrainingFolder::lacking_file(const std::string& checkpoint) const {
  for (const std::string& name :
       {str_cat("training_state/", state_file_), std::string("training_state/optimizer_state.safetensors"),
        model_folder_ + "config.json", model_folder_ + "model.safetensors"}) {
    if (!fs::is_regular_file(str_cat(checkpoint, "/", name))) {
      return name;
    }
  }
  return {};
}

std::optional<std::string> TrainingFolder::newest(int64_t at_most) const {
  std::map<int64_t, std::string, std::greater<>> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints(), ignored)) {
    if (const auto step = step_of(entry.path().filename().string()); step && *step <= at_most) {
      found[*step] = entry.path().string();
    }
  }
  for (const auto& [step, folder] : found) {
    const std::string lacking = lacking_file(folder);
    if (lacking.empty()) {
      return checkpoint(step);
    }
    log_warn("an incomplete checkpoint is passed over", {{"checkpoint", folder}, {"lacks", lacking}});
  }
  return std::nullopt;
}

std::optional<std::string> TrainingFolder::best_or_last() const {
  for (const char* link : {"/best", "/last"}) {
    if (const std::string path = checkpoints() + link; fs::is_directory(path)) {
      return fs::canonical(path).string();
    }
  }
  return std::nullopt;
}

std::string TrainingFolder::save(int64_t step, const std::function<void(const std::string& folder)>& fill,
                                 const BestValue& best) const {
  const std::string target = checkpoint(step);
  try {
    StagedFolder staged(target);
    fill(staged.path());
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

void TrainingFolder::point(const std::string& link, const std::string& name) const {
  const fs::path temporary = fs::path(checkpoints()) / str_cat(link, ".tmp.", name);
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fs::create_directory_symlink(name, temporary);
  fs::rename(temporary, fs::path(checkpoints()) / link);
}

void TrainingFolder::remove(int64_t step) const {
  std::error_code ignored;
  fs::remove_all(checkpoint(step), ignored);
}

void TrainingFolder::clear() const {
  try {
    if (fs::is_directory(checkpoints())) {
      for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints())) {
        const std::string name = entry.path().filename().string();
        if (!step_of(name) && !entry.is_symlink() && name.find(".tmp") == std::string::npos) {
          throw Error(ErrorKind::kFile, str_cat("'", name, "' is no checkpoint: the folder is not that of ", kind_),
                      checkpoints(), "give another output_dir");
        }
      }
      log_warn("an earlier run is replaced", {{"folder", folder_}, {"of", kind_}});
      fs::remove_all(checkpoints());
    }
    fs::remove(folder_ + "/metrics.jsonl");
  } catch (const fs::filesystem_error& error) {
    refuse(error);
  }
}

void TrainingFolder::repair_links() const {
  const auto last = newest();
  if (!last) {
    return;
  }
  point("last", fs::path(*last).filename().string());
  const BestValue best = best_of(Json::read_file(state_file(*last)));
  if (best.step >= 0 && fs::is_directory(checkpoint(best.step))) {
    point("best", fs::path(checkpoint(best.step)).filename().string());
  }
}

std::unique_ptr<FolderLock> TrainingFolder::start(const std::string& config_yaml, bool resumed) const {
  check_writable_folder(folder_);
  auto lock = std::make_unique<FolderLock>(folder_);
  if (resumed) {
    repair_links();
  } else {
    clear();
  }
  write_file_atomic(folder_ + "/config.yaml", config_yaml);
  return lock;
}

bool BestKeeper::offer(int64_t step, double loss) {
  if (!(loss < best_.loss)) {
    return false;
  }
  superseded_ = best_.step;
  best_ = {.step = step, .loss = loss};
  return true;
}

void BestKeeper::saved(const TrainingFolder& folder, int64_t step, int64_t save_interval) {
  const bool is_scheduled = save_interval > 0 && superseded_ % save_interval == 0;
  if (superseded_ >= 0 && !is_scheduled && superseded_ != step && superseded_ != resumed_step_) {
    folder.remove(superseded_);  // it was kept for being the best one
  }
  superseded_ = -1;
}

void add_best(Json& state, const BestValue& best) {
  state["best_step"] = best.step;
  state["best_loss"] = best.step < 0 ? Json() : Json(best.loss);
}

void add_validation_due(Json& state, const train::Progress& progress) {
  if (progress.validation_due) {
    state["validation_due"] = true;
  }
}

bool validation_due_of(const Json& state) {
  return state.find("validation_due") != nullptr;
}

Json read_state(const std::string& path) {
  Json state = Json::read_file(path);
  for (const char* key : {"step", "world", "best_step", "best_loss"}) {
    if (!state.is_object() || state.find(key) == nullptr) {
      throw Error(ErrorKind::kCheckpoint, str_cat("this is not the state of a training: '", key, "' is missing"), path,
                  "remove the checkpoint to continue from an older one");
    }
  }
  return state;
}

BestValue best_of(const Json& state) {
  if (state.at("best_loss").is_null()) {
    return {};
  }
  return {.step = state.at("best_step").as_int(), .loss = state.at("best_loss").as_double()};
}

}  // namespace flexor::recap
