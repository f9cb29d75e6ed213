#pragma once
#include <string>
#include <vector>

namespace flexor::dist {

/// A physical core and its processors (hardware threads), by the numbers of the operating system.
struct Core {
  int numa_node = 0;
  std::vector<int> cpus;
};

/// The cores that may be used, those of a NUMA node beside each other, in the order of the machine.
struct Topology {
  std::vector<Core> cores;

  std::vector<int> nodes() const;  ///< NUMA nodes with a core, ascending
  std::vector<int> cpus() const;   ///< ascending
};

/// This machine by hwloc, without the processors that are not in `allowed` (empty: all of them).
/// @throws Error(kRuntime) if it cannot be looked at, or if no core is left
Topology machine_topology(const std::vector<int>& allowed);

/// A made-up machine in hwloc's words: "node:2 core:8 pu:1" has two NUMA nodes of eight cores.
/// @throws Error(kRuntime) as machine_topology(), and for text that is no description
Topology synthetic_topology(const std::string& description, const std::vector<int>& allowed = {});

std::string hwloc_version();  ///< of the interface of the library in use: "2.8.0"

}  // namespace flexor::dist
