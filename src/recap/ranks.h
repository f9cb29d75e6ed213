#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/group.h"
#include "recap/recap_config.h"

namespace flexor::recap {

/// Micro batches of a step on each of `world` ranks. @param actor  ValueActor or PolicyActor
template <typename Actor>
int64_t micro_batches(const Actor& actor, int64_t world) {
  return actor.global_batch_size / actor.micro_batch_size / world;
}

/// Meets the other ranks of this process's launch, when there are any, before anything is read: a group of one without.
/// Signals are only noted from here on.
/// @param steps  that are going to run
/// @throws Error(kConfig) if the batches of a training cannot be shared among so many ranks; Error(kRuntime) if some do
///         not come within dist.timeout_s
std::shared_ptr<dist::Group> meet_ranks(const RecapConfig& config, std::span<const Step> steps);

/// Before a model is built: all ranks run the same program, settings and data, and go on from the same checkpoint.
/// @param more  further things that must be equal: name and value
/// @throws Error(kRuntime) naming the rank and what differs
void check_ranks(dist::Group& group, const RecapConfig& config, Step step,
                 const std::vector<std::pair<std::string, std::string>>& more);

/// The mean over the ranks of numbers that all have under the same names.
std::map<std::string, double> mean_over_ranks(dist::Group& group, std::map<std::string, double> numbers);
/// Adds up numbers over the ranks, in place.
void sum_over_ranks(dist::Group& group, std::span<double> numbers);

}  // namespace flexor::recap
