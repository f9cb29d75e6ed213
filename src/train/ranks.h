#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "dist/group.h"
#include "dist/preflight.h"
#include "train/parallel_context.h"
#include "train/run_folder.h"

namespace flexor::train {

/// Meets the other ranks of this process's launch, when there are any.
/// @param strategy  parallel.strategy; with `none` nobody is met, and the configuration's check refuses several ranks
std::shared_ptr<dist::Group> join_ranks(const dist::Launch& launch, const std::string& strategy, double timeout_s);

/// How the ranks of the group share a training. @param strategy  parallel.strategy
std::unique_ptr<ParallelContext> make_context(const std::string& strategy, const std::shared_ptr<dist::Group>& group);

/// Runs what all ranks do together. If it fails on one, the others learn why; if all is well, they leave together.
template <typename Body>
auto with_ranks(dist::Group& group, const Body& body) {
  try {
    auto result = body();
    group.close();
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted && error.kind() != ErrorKind::kTerminated) {
      group.report_failure(error.what());
    }
    throw;
  } catch (const std::exception& error) {
    group.report_failure(to_error(error).what());
    throw;
  }
}

/// The plan that all ranks can follow: of the newest checkpoint that all have.
/// @throws Error(kRuntime) if some have one and others none: the folder is not shared
RunPlan common_plan(const config::Sources& sources, dist::Group& group);

/// Before a model is built: all ranks run the same program on the same kind of device with the same data and what else
/// is in `facts` (dist::check_alike). Two of them on one device are named in the log.
/// @param roots  of the datasets  @throws Error(kFile), and Error(kRuntime) with what differs
void check_common(dist::Group& group, dist::Facts facts, const std::vector<std::string>& roots);

/// The same with the configuration of a training.
void check_ranks(dist::Group& group, const RunPlan& plan);

/// The newest step that all ranks have. @param step  of the newest that this rank has, -1 for none
/// @throws Error(kRuntime) if some have one and others none
int64_t agree_on_step(dist::Group& group, int64_t step, const std::string& folder);

/// Facts about datasets: hashes of their meta folders. @throws Error(kFile)
dist::Facts dataset_facts(const std::vector<std::string>& roots);

}  // namespace flexor::train
