#include "dist/topology.h"

#include <algorithm>
#include <hwloc.h>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::dist {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::kRuntime, what, "hwloc", "runtime.bind=none needs no topology");
}

Handle new_handle() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    fail("the topology of the machine cannot be looked at");
  }
  return Handle(topology);
}

Core core_of(hwloc_obj_t object, const std::set<int>& allowed) {
  Core core;
  core.numa_node = object->nodeset != nullptr ? std::max(0, hwloc_bitmap_first(object->nodeset)) : 0;
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
    if (allowed.empty() || allowed.contains(cpu)) {
      core.cpus.push_back(cpu);
    }
  }
  return core;
}

Topology load(const Handle& handle, const std::vector<int>& allowed) {
  if (hwloc_topology_load(handle.get()) != 0) {
    fail("the topology of the machine cannot be loaded");
  }
  const bool has_cores = hwloc_get_nbobjs_by_type(handle.get(), HWLOC_OBJ_CORE) > 0;  // some virtual machines hide them
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const std::set<int> wanted(allowed.begin(), allowed.end());
  Topology topology;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(handle.get(), type, object)) != nullptr;) {
    Core core = core_of(object, wanted);
    if (!core.cpus.empty()) {
      topology.cores.push_back(std::move(core));
    }
  }
  if (topology.cores.empty()) {
    fail("no core of the machine may be used");
  }
  std::ranges::stable_sort(topology.cores, {}, &Core::numa_node);
  return topology;
}

}  // namespace

std::vector<int> Topology::nodes() const {
  std::set<int> found;
  for (const Core& core : cores) {
    found.insert(core.numa_node);
  }
  return {found.begin(), found.end()};
}

std::vector<int> Topology::cpus() const {
  std::vector<int> all;
  for (const Core& core : cores) {
    all.insert(all.end(), core.cpus.begin(), core.cpus.end());
  }
  std::ranges::sort(all);
  return all;
}

Topology machine_topology(const std::vector<int>& allowed) {
  return load(new_handle(), allowed);
}

Topology synthetic_topology(const std::string& description, const std::vector<int>& allowed) {
  const Handle handle = new_handle();
  if (hwloc_topology_set_synthetic(handle.get(), description.c_str()) != 0) {
    fail(str_cat("no description of a topology: '", description, "'"));
  }
  return load(handle, allowed);
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return str_cat(version >> 16U, ".", (version >> 8U) & 0xffU, ".", version & 0xffU);
}

}  // namespace flexor::dist
