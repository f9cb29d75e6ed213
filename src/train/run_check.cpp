#include "train/run_check.h"

#include <cerrno>
#include <exception>
#include <filesystem>
#include <functional>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "base/file_errors.h"
#include "base/memory.h"
#include "base/process_memory.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "train/batch_source.h"
#include "train/policy_plan.h"
#include "train/policy_setup.h"
#include "train/run_folder.h"
#include "train/run_inputs.h"

namespace flexor::train {
namespace {

class Checks {
 public:
  /// @return whether `body`, which says what it found, did not throw
  bool run(const std::string& name, const std::function<std::string()>& body) {
    RunCheck check{.name = name, .found = {}, .problem = {}};
    try {
      check.found = body();
    } catch (const Error& error) {
      check.problem = error;
    } catch (const std::exception& error) {
      check.problem = to_error(error);
    }
    list.push_back(std::move(check));
    return !list.back().problem.has_value();
  }

  std::vector<RunCheck> list;
};

std::string configuration_text(const RunPlan& plan, int64_t world) {
  const TrainConfig& config = plan.config;
  const std::string start = plan.checkpoint ? str_cat("from step ", plan.checkpoint->step) : std::string("from step 0");
  return str_cat(config.policy.config.type, ", ", config.policy.config.dtype, ", ", start, " to ", config.steps,
                 ", batches of ", config.batch_size, " x ", accumulation(config, world), " x ", world,
                 world == 1 ? " rank" : " ranks");
}

std::string data_text(const RunInputs& inputs) {
  const data::Mixture& all = *inputs.data->all;
  int64_t episodes = 0;
  for (const data::Mixture::Part& part : all.parts()) {
    episodes += part.dataset.num_episodes();
  }
  const std::string held_out =
      inputs.data->held_out ? str_cat(", ", inputs.data->held_out->num_frames(), " of them held out") : std::string();
  const std::string computed = inputs.computed_stats ? "; statistics computed" : "";
  return str_cat(all.parts().size() == 1 ? "1 dataset, " : str_cat(all.parts().size(), " datasets, "), episodes,
                 " episodes, ", all.num_frames(), " frames", held_out, computed, "; prompts of up to ",
                 inputs.policy.tokenizer_max_length, " tokens fit");
}

/// The folder itself, or the one above it that is there.
std::filesystem::path existing(std::filesystem::path folder) {
  std::error_code code;
  folder = std::filesystem::absolute(folder, code);
  while (!std::filesystem::exists(folder, code) && folder.has_parent_path() && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

std::string check_output(const std::string& output_dir) {
  const std::string folder = existing(output_dir).string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw_file_error("not writable", folder, errno);
  }
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) {
    throw_file_error("free space cannot be told", folder, errno);
  }
  if (space.f_bavail == 0) {
    throw_file_error("no room for a run", folder, ENOSPC);
  }
  return str_cat(output_dir, ", ",
                 human_bytes(static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize)), " free");
}

/// Of the device, where it has its own and says how much.
std::optional<device::Memory> device_memory() {
  const auto memory = device::memory();
  return memory && memory->free >= 0 && memory->total > 0 ? memory : std::nullopt;
}

/// The predicted peak of one rank, as `flexor plan` says it.
std::string check_plan(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t world,
                       int64_t ranks_of_node) {
  const auto on_device = device_memory();
  const auto sharing = static_cast<double>(on_device ? 1 : ranks_of_node);
  const auto limit = static_cast<double>(on_device ? on_device->total : memory_limit_bytes());
  const double memory = static_cast<double>(on_device ? on_device->free : available_memory_bytes()) / sharing;
  const PlanReport report = report_policy_plan(config, policy, world, memory, ranks_of_node);
  const std::string largest = report.largest_batch > 0 ? str_cat("largest batch_size that fits ", report.largest_batch)
                                                       : std::string("not even batch_size 1 fits");
  const std::string found =
      str_cat(human_bytes(report.plan.total()), " a rank at the peak, ", human_bytes(memory), " available; ", largest);
  if (limit > 0 && report.plan.total() * sharing > limit) {
    throw Error(ErrorKind::kRuntime, found, "predicted memory of a step", "`flexor plan` says what would need less");
  }
  return found;
}

schema::PolicyConfig policy_before_data(const RunPlan& plan) {
  return plan.checkpoint ? resumed_policy(plan) : plan.config.policy.config;
}

void check_data(const RunPlan& plan, Checks& checks, std::optional<RunInputs>& inputs) {
  if (!plan.config.batch_file.empty()) {
    checks.run("data", [&] {
      file_source(plan.config, policy_before_data(plan), 1, {});
      return plan.config.batch_file;
    });
    return;
  }
  const bool has_tokenizer = plan.checkpoint || checks.run("tokenizer", [&] {
    return str_cat(open_training_tokenizer(plan.config).vocab_size(), " tokens");
  });
  if (has_tokenizer) {
    checks.run("data", [&] {
      inputs = prepare_inputs(plan);
      return data_text(*inputs);
    });
    return;
  }
  checks.run("data", [&] {  // what can be told without a tokenizer
    return str_cat(open_training_data(plan.config).all->num_frames(), " frames; prompts were not looked at");
  });
}

}  // namespace

std::vector<RunCheck> check_run(const config::Sources& sources, int64_t world, int64_t ranks_of_node) {
  Checks checks;
  RunPlan plan;
  const auto configuration = [&] {
    plan = plan_run(sources, world);
    return configuration_text(plan, world);
  };
  if (!checks.run("configuration", configuration)) {
    return std::move(checks.list);
  }
  const bool has_device = checks.run("device", [&] {
    dist::choose_device(plan.config.device);
    return device::describe_current();
  });
  std::optional<RunInputs> inputs;
  check_data(plan, checks, inputs);
  if (has_device) {
    checks.run("memory", [&] {
      const schema::PolicyConfig policy = inputs ? inputs->policy : policy_before_data(plan);
      check_memory(plan.config, policy, world);
      const auto on_device = device_memory();
      return str_cat("a step needs at least ", human_bytes(least_memory(plan.config, policy, world)), " of ",
                     human_bytes(static_cast<double>(on_device ? on_device->total : memory_limit_bytes())));
    });
    checks.run("plan", [&] {
      return check_plan(plan.config, inputs ? inputs->policy : policy_before_data(plan), world, ranks_of_node);
    });
  }
  checks.run("weights", [&] {
    const std::string file = check_weights(plan, inputs ? inputs->policy : policy_before_data(plan));
    return file.empty() ? std::string("drawn at random") : file;
  });
  checks.run("output folder", [&] { return check_output(plan.config.output_dir); });
  return std::move(checks.list);
}

}  // namespace flexor::train
