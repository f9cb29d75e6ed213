#include "train/ranks.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "base/content_hash.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "config/print.h"
#include "device/device.h"
#include "dist/endpoint.h"
#include "train/group_context.h"
#include "train/sharded_context.h"

namespace flexor::train {

namespace fs = std::filesystem;

std::shared_ptr<dist::Group> join_ranks(const dist::Launch& launch, const std::string& strategy, double timeout_s) {
  if (launch.world == 1 || strategy == "none") {
    return dist::join_group(dist::Launch{}, {.timeout_s = timeout_s});
  }
  if (launch.rank != 0) {
    set_log_level(LogLevel::kOff);  // rank 0 speaks for all
  }
  log_info("waiting for all ranks", {{"launch", dist::describe(launch)}});
  auto group = dist::join_group(launch, {.timeout_s = timeout_s});
  log_info("all ranks are here", {{"ranks", group->world()}});
  return group;
}

std::unique_ptr<ParallelContext> make_context(const std::string& strategy, const std::shared_ptr<dist::Group>& group) {
  if (group->world() == 1) {
    return single_process();
  }
  if (strategy == "ddp" || strategy == "no_shard") {
    return data_parallel_context(group);
  }
  if (is_sharded(strategy)) {
    return sharded_context(group, strategy);
  }
  throw Error(ErrorKind::kConfig, str_cat("no way to train on ", group->world(), " ranks is called '", strategy, "'"),
              "parallel.strategy");
}

int64_t agree_on_step(dist::Group& group, int64_t step, const std::string& folder) {
  const auto newest = static_cast<int64_t>(group.all_reduce(static_cast<double>(step), dist::ReduceOp::kMax));
  const auto common = static_cast<int64_t>(group.all_reduce(static_cast<double>(step), dist::ReduceOp::kMin));
  if (common < 0 && newest >= 0) {
    const std::vector<std::string> all = group.gather_bytes(std::to_string(step));
    const auto without = std::ranges::find(all, "-1") - all.begin();
    throw Error(ErrorKind::kRuntime, str_cat("rank ", without, " sees no checkpoint, others one of step ", newest),
                str_cat(folder, ", rank ", group.rank()), "output_dir must be a folder that all nodes share");
  }
  return common;
}

dist::Facts dataset_facts(const std::vector<std::string>& roots) {
  dist::Facts facts;
  for (const std::string& root : roots) {
    std::vector<std::string> files;
    std::error_code code;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root + "/meta", code)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path().string());
      }
    }
    std::ranges::sort(files);
    ContentHash hash;
    for (const std::string& file : files) {
      const std::string name = file.substr(root.size());
      const uint64_t content = hash_file(file);
      hash.add(std::as_bytes(std::span(name)));
      hash.add(std::as_bytes(std::span(&content, 1)));
    }
    std::ostringstream text;
    text << std::hex << hash.value();
    facts.emplace_back(str_cat("hash of ", root, "/meta"), text.str());
  }
  return facts;
}

/// The plan that all ranks can follow.
RunPlan common_plan(const config::Sources& sources, dist::Group& group) {
  RunPlan plan = plan_run(sources, group.world());
  const int64_t step = plan.checkpoint ? plan.checkpoint->step : -1;
  const int64_t common = agree_on_step(group, step, plan.config.output_dir);
  return common < step ? plan_run(sources, group.world(), common) : plan;
}

namespace {

/// Ranks of one machine that would compute on one device.
void warn_of_shared_devices(dist::Group& group) {
  const std::string mine = device::physical_id(dist::process_env());
  const std::vector<std::string> all = group.gather_bytes(mine.empty() ? mine : str_cat(dist::host_name(), ":", mine));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto first = static_cast<size_t>(std::ranges::find(all, all[rank]) - all.begin());
    if (!all[rank].empty() && first < rank) {
      log_warn("two ranks compute on one device", {{"device", all[rank]}, {"ranks", str_cat(first, ",", rank)}});
    }
  }
}

}  // namespace

void check_common(dist::Group& group, dist::Facts facts, const std::vector<std::string>& roots) {
  if (group.world() == 1) {
    return;
  }
  dist::Facts all = {{"the program's hash", dist::program_hash()},
                     {"the kind of device", c10::DeviceTypeName(device::current().type(), /*lower_case=*/true)}};
  std::ranges::move(facts, std::back_inserter(all));
  std::ranges::move(dataset_facts(roots), std::back_inserter(all));
  dist::check_alike(group, all);
  warn_of_shared_devices(group);
}

void check_ranks(dist::Group& group, const RunPlan& plan) {
  if (group.world() == 1) {
    return;
  }
  dist::Facts facts;
  for (const auto& [key, value] : config::flatten(plan.config)) {
    facts.emplace_back(key, value);
  }
  std::vector<std::string> roots;
  if (!plan.config.dataset.root.empty()) {
    roots.push_back(plan.config.dataset.root);
  }
  for (const MixEntry& entry : plan.config.dataset.mix) {
    roots.push_back(entry.root);
  }
  check_common(group, std::move(facts), roots);
}

}  // namespace flexor::train
