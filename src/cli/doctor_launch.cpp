#include "cli/doctor_launch.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/backend.h"
#include "device/backend_search.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "dist/cpu_mask.h"
#include "dist/group.h"
#include "dist/variable_notes.h"
#include "tensor/tensor.h"
#include "train/run_check.h"

namespace flexor::cli {
namespace {

using State = DoctorItem::State;

/// Median seconds of an all-reduce of `bytes` on `device`. @throws Error(kRuntime) for a sum that is wrong, or as Group
double all_reduce_seconds(dist::Group& group, int64_t bytes, const at::Device& device) {
  constexpr int kRounds = 5;
  std::vector<double> seconds;
  for (int round = 0; round <= kRounds; ++round) {
    Tensor tensor = at::full({bytes / static_cast<int64_t>(sizeof(float))}, static_cast<double>(group.rank() + 1),
                             at::TensorOptions().dtype(at::kFloat).device(device));
    device::synchronize();
    group.barrier();
    const double start = wall_seconds();
    group.all_reduce(tensor);
    device::synchronize();
    seconds.push_back(wall_seconds() - start);
    const auto world = static_cast<double>(group.world());
    const double expected = world * (world + 1) / 2, found = tensor.max().item<double>(),
                 least = tensor.min().item<double>();
    if (found != expected || least != expected) {
      throw Error(ErrorKind::kRuntime,
                  str_cat("a sum over the ranks should be ", expected, ", found ", least, " to ", found),
                  str_cat("all-reduce of ", human_bytes(static_cast<double>(bytes))), "look at the network");
    }
  }
  seconds.erase(seconds.begin());  // the first one connects
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return seconds[kRounds / 2];
}

bool is_on_ascend(const dist::Env& env) {
  return env("ASCEND_TOOLKIT_HOME") || env("ASCEND_RT_VISIBLE_DEVICES") || device::count_device_files("npu") > 0;
}

void add_all_reduces(dist::Group& group, const at::Device& device, DoctorSection& section) {
  const std::string suffix = device.is_cpu() ? std::string() : " " + device.str();
  for (const int64_t bytes : {int64_t{4} << 10, int64_t{1} << 20, int64_t{64} << 20}) {
    const double seconds = all_reduce_seconds(group, bytes, device);
    const auto world = static_cast<double>(group.world());
    const double moved = static_cast<double>(bytes) * 2 * (world - 1) / world;  // by each rank, of a ring
    section.items.push_back({.name = str_cat("all-reduce ", human_bytes(static_cast<double>(bytes)), suffix),
                             .value = str_cat(short_number(seconds * 1000, 3), " ms, ",
                                              short_number(moved / seconds / 1e9, 3), " GB/s by each rank")});
  }
}

/// Chooses this rank's device of the back end that was opened. @return whether all ranks have one
bool take_device(dist::Group& group, DoctorSection& section) {
  const device::Backend* backend = device::opened_backend();
  bool has_device = backend != nullptr && !backend->collective().empty() && backend->device_count() > 0;
  std::string reason = "no device";
  try {
    if (has_device) {
      dist::choose_device(backend->name());
    }
  } catch (const Error& error) {
    has_device = false;
    reason = error.what();
  }
  const std::vector<std::string> all = group.gather_bytes(has_device ? "" : reason);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty() && backend != nullptr) {
      section.items.push_back(
          {.name = "devices", .value = str_cat("rank ", rank, ": ", all[rank]), .state = State::kWarning});
      return false;
    }
  }
  return backend != nullptr && std::ranges::all_of(all, &std::string::empty);
}

}  // namespace

DoctorSection launch_section(const dist::Env& env, std::optional<dist::Launch>& launch) {
  DoctorSection section{.name = "launch", .items = {}};
  try {
    launch = dist::resolve_launch(env);
    DoctorItem item{.name = "this process", .value = dist::describe(*launch)};
    if (launch->is_node_level && launch->local_world > 1) {
      item.value = str_cat(launch->launcher, ": it stands for ", launch->local_world, " ranks of node ", launch->node,
                           " of ", launch->num_nodes);
      item.advice = "flexor launch -- doctor starts them";
    }
    section.items.push_back(item);
    for (const std::string& note : launch->notes) {
      section.items.push_back({.name = "note", .value = note, .state = State::kWarning});
    }
  } catch (const Error& error) {
    section.items.push_back(problem_item("this process", error));
  }
  const dist::VariableContext context{.on_ascend = is_on_ascend(env),
                                      .local_world = launch ? launch->local_world : 1,
                                      .num_cores = static_cast<int64_t>(dist::allowed_cpus().size())};
  for (const dist::VariableNote& note : dist::explain_variables(env, context)) {
    section.items.push_back({.name = note.name,
                             .value = str_cat(note.value, " (", note.meaning, ")"),
                             .state = note.advice.empty() ? State::kOk : State::kWarning,
                             .advice = note.advice});
  }
  return section;
}

DoctorSection group_section(const dist::Launch& launch, double timeout_s) {
  DoctorSection section{.name = "ranks", .items = {}};
  try {
    const double start = wall_seconds();
    const auto group = dist::join_group(launch, {.timeout_s = timeout_s});
    section.items.push_back(
        {.name = "meeting", .value = str_cat(group->world(), " ranks in ", human_seconds(wall_seconds() - start))});
    add_all_reduces(*group, at::kCPU, section);
    if (take_device(*group, section)) {
      group->use_device(device::current());
      add_all_reduces(*group, device::current(), section);
    }
    group->close();
  } catch (const Error& error) {
    section.items.push_back(problem_item("all-reduce", error));
  }
  return section;
}

DoctorSection run_section(const config::Sources& sources, int64_t world, int64_t ranks_of_node) {
  DoctorSection section{.name = "run", .items = {}};
  for (const train::RunCheck& check : train::check_run(sources, world, ranks_of_node)) {
    section.items.push_back(check.problem ? problem_item(check.name, *check.problem)
                                          : DoctorItem{.name = check.name, .value = check.found});
  }
  return section;
}

}  // namespace flexor::cli
