#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dist/topology.h"

namespace flexor::dist {

/// The processors of one rank.
struct Slice {
  std::vector<int> cpus;         ///< for computing; empty: not bound
  std::vector<int> loader_cpus;  ///< for decoding; empty: the same
  std::vector<int> numa_nodes;   ///< that they belong to
  int64_t threads = 0;           ///< one for each core of `cpus`
  bool is_shared = false;        ///< other ranks of this node use them too: there are more ranks than cores
};

/// The share of a rank: the ranks of a node get neighbouring cores, as many each as possible; ranks and NUMA nodes that
/// divide each other are matched, so that no rank straddles nodes, unless a rank then had less than half the cores of
/// another. Pure.
/// @param mode         coarse: threads may run on every core of the share; fine: decoding has cores of its own, up to a
///                     quarter of the share, at least one; with a single core both use it
/// @param num_workers  threads that decode; with 0 fine is coarse
Slice plan_slice(const Topology& topology, int64_t local_rank, int64_t local_world, const std::string& mode,
                 int64_t num_workers);

/// Binds this process to its share and sets LibTorch's threads to its cores. To be called before anything computes.
/// A mask that a launcher gave to this rank alone (narrower than the launcher's own) is its share; any other mask, and
/// what the control group allows, is shared out. CPU_AFFINITY_CONF is taken out of the environment, with a warning:
/// torch_npu would bind the threads once more.
/// @param mode  none (does nothing), coarse, fine
/// @throws Error(kRuntime) if the machine cannot be looked at or refuses
Slice bind(int64_t local_rank, int64_t local_world, const std::string& mode, int64_t num_workers);

}  // namespace flexor::dist
