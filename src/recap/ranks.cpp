#include "recap/ranks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "config/print.h"
#include "device/device.h"
#include "dist/preflight.h"
#include "dist/shared_work.h"
#include "tensor/tensor.h"
#include "train/ranks.h"

namespace flexor::recap {
namespace {

template <typename Actor>
void check_batches(const Actor& actor, Step step, int64_t world) {
  const int64_t unit = actor.micro_batch_size * world;
  if (actor.global_batch_size % unit != 0) {
    throw Error(
        ErrorKind::kConfig,
        str_cat("'actor.global_batch_size': expected a multiple of actor.micro_batch_size * ranks = ",
                actor.micro_batch_size, " * ", world, " = ", unit, ", found ", actor.global_batch_size),
        std::string(step_name(step)),
        str_cat("actor.global_batch_size=", (actor.global_batch_size + unit - 1) / unit * unit, ", or other ranks"));
  }
}

config::FlatConfig flat_settings(const RecapConfig& config, Step step) {
  switch (step) {
    case Step::kReturns:
      return config::flatten(config.returns);
    case Step::kValue:
      return config::flatten(config.value);
    case Step::kAdvantages:
      return config::flatten(config.advantages);
    case Step::kPolicy:
      break;
  }
  return config::flatten(config.policy);
}

std::vector<std::string> roots_of(const DataSection& data) {
  std::vector<std::string> roots;
  for (const auto* entries : {&data.train_data_paths, &data.eval_data_paths, &data.val_data_paths}) {
    for (const DatasetEntry& entry : *entries) {
      roots.push_back(resolved_path(data, entry.dataset_path));
    }
  }
  std::ranges::sort(roots);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

const DataSection& data_of(const RecapConfig& config, Step step) {
  const DataSection* const sections[] = {&config.returns.data, &config.value.data, &config.advantages.data,
                                         &config.policy.data};
  return *sections[static_cast<size_t>(step)];
}

}  // namespace

std::shared_ptr<dist::Group> meet_ranks(const RecapConfig& config, std::span<const Step> steps) {
  install_interrupt_handlers();
  const dist::Launch launch = dist::launch_of_process();
  if (launch.world == 1) {
    return dist::group_of_one();
  }
  for (const Step step : steps) {
    if (step == Step::kValue) {
      check_batches(config.value.actor, step, launch.world);
    } else if (step == Step::kPolicy) {
      check_batches(config.policy.actor, step, launch.world);
    }
  }
  return train::join_ranks(launch, "ddp", config.dist.timeout_s);
}

void check_ranks(dist::Group& group, const RecapConfig& config, Step step,
                 const std::vector<std::pair<std::string, std::string>>& more) {
  if (group.world() == 1) {
    return;
  }
  dist::Facts facts = {{"output_dir", config.output_dir}};
  for (const auto& [key, value] : flat_settings(config, step)) {
    facts.emplace_back(key, value);
  }
  facts.insert(facts.end(), more.begin(), more.end());
  train::check_common(group, std::move(facts), roots_of(data_of(config, step)));
  group.use_device(device::current());
}

void sum_over_ranks(dist::Group& group, std::span<double> numbers) {
  if (group.world() == 1 || numbers.empty()) {
    return;
  }
  const Tensor sums = at::empty({static_cast<int64_t>(numbers.size())}, at::kDouble);
  std::ranges::copy(numbers, sums.mutable_data_ptr<double>());
  group.all_reduce(sums);
  std::copy_n(sums.const_data_ptr<double>(), numbers.size(), numbers.begin());
}

std::map<std::string, double> mean_over_ranks(dist::Group& group, std::map<std::string, double> numbers) {
  std::vector<double> sums;
  for (const auto& [name, value] : numbers) {
    sums.push_back(value);
  }
  sum_over_ranks(group, sums);
  size_t next = 0;
  for (auto& [name, value] : numbers) {
    value = sums[next++] / static_cast<double>(group.world());
  }
  return numbers;
}

}  // namespace flexor::recap
