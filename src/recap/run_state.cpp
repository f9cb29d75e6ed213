#include "recap/run_state.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "recap/run_step.h"

namespace flexor::recap {
namespace {

constexpr int64_t kFormat = 1;
constexpr const char* kStatusNames[] = {"never", "running", "done"};

StepState read_step(const Json& json) {
  StepState state;
  const std::string status = json.at("status").as_string();
  for (size_t i = 0; i < std::size(kStatusNames); ++i) {
    state.status = status == kStatusNames[i] ? static_cast<StepState::Status>(i) : state.status;
  }
  state.plan = {.settings = json.at("settings"), .inputs = json.at("inputs")};
  state.outputs = json.at("outputs");
  state.made = json.at("made");
  state.seconds = json.at("seconds").as_double();
  return state;
}

Json to_json(const StepState& state) {
  return Json::object({{"status", kStatusNames[static_cast<size_t>(state.status)]},
                       {"seconds", state.seconds},
                       {"made", state.made},
                       {"settings", state.plan.settings},
                       {"inputs", state.plan.inputs},
                       {"outputs", state.outputs}});
}

}  // namespace

RunState::RunState(const std::string& output_dir) : path_(output_dir + "/recap_run.json") {
  if (!std::filesystem::exists(path_)) {
    return;
  }
  try {
    const Json json = Json::read_file(path_);
    if (json.at("format").as_int() != kFormat) {
      throw Error(ErrorKind::kData, str_cat("expected format ", kFormat, ", found ", json.at("format").as_int()));
    }
    for (const Step step : kSteps) {
      if (const Json* state = json.at("steps").find(step_name(step))) {
        steps_[static_cast<size_t>(step)] = read_step(*state);
        if (const StepState& known = steps_[static_cast<size_t>(step)]; !known.made.is_null()) {
          (void)shown_result(step, known.made);  // throws for what no step made
        }
      }
    }
    hashes_ = FileHashes(json.at("files"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) {
      throw;
    }
    throw Error(ErrorKind::kData, str_cat("this is not the state of a run: ", error.what()), path_,
                "remove it and config.yaml beside it, and every step runs again");
  }
}

void RunState::save() const {
  Json steps = Json::object();
  for (const Step step : kSteps) {
    if (const StepState& state = steps_[static_cast<size_t>(step)]; state.status != StepState::Status::kNever) {
      steps[step_name(step)] = to_json(state);
    }
  }
  const Json all = Json::object({{"format", kFormat}, {"steps", steps}, {"files", hashes_.notes()}});
  write_file_atomic(path_, all.dump(1) + "\n");
}

}  // namespace flexor::recap
