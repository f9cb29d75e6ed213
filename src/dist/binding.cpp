#include "dist/binding.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <cstdlib>
#include <set>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "dist/cpu_mask.h"

namespace flexor::dist {
namespace {

/// Cores begin..end of a topology.
using Range = std::pair<size_t, size_t>;

/// Part `index` of `count` nearly equal parts.
Range part(Range range, size_t index, size_t count) {
  const size_t size = range.second - range.first;
  return {range.first + size * index / count, range.first + size * (index + 1) / count};
}

/// Of each NUMA node, in order.
std::vector<Range> node_ranges(const Topology& topology) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < topology.cores.size(); ++i) {
    if (i == 0 || topology.cores[i].numa_node != topology.cores[i - 1].numa_node) {
      ranges.emplace_back(i, i);
    }
    ranges.back().second = i + 1;
  }
  return ranges;
}

/// The cores of every rank when nodes and ranks are matched; nothing if they do not divide each other.
std::vector<Range> by_nodes(const std::vector<Range>& nodes, size_t num_ranks) {
  std::vector<Range> ranges;
  if (num_ranks % nodes.size() == 0) {
    const size_t ranks_a_node = num_ranks / nodes.size();
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      ranges.push_back(part(nodes[rank / ranks_a_node], rank % ranks_a_node, ranks_a_node));
    }
  } else if (nodes.size() % num_ranks == 0) {
    const size_t nodes_a_rank = nodes.size() / num_ranks;
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      ranges.emplace_back(nodes[rank * nodes_a_rank].first, nodes[(rank + 1) * nodes_a_rank - 1].second);
    }
  }
  return ranges;
}

bool is_fair(const std::vector<Range>& ranges) {
  size_t least = SIZE_MAX, most = 0;
  for (const auto& [begin, end] : ranges) {
    least = std::min(least, end - begin);
    most = std::max(most, end - begin);
  }
  return !ranges.empty() && least > 0 && most <= 2 * least;
}

Range cores_of(const Topology& topology, size_t rank, size_t num_ranks) {
  const Range all{0, topology.cores.size()};
  if (num_ranks > topology.cores.size()) {
    const size_t core = rank % topology.cores.size();
    return {core, core + 1};
  }
  const std::vector<Range> matched = by_nodes(node_ranges(topology), num_ranks);
  return is_fair(matched) ? matched[rank] : part(all, rank, num_ranks);
}

std::vector<int> cpus_of(const Topology& topology, Range range) {
  return Topology{.cores = {topology.cores.begin() + static_cast<ptrdiff_t>(range.first),
                            topology.cores.begin() + static_cast<ptrdiff_t>(range.second)}}
      .cpus();
}

/// True if whoever started this process gave it fewer processors than it has itself.
bool has_own_mask(const std::vector<int>& mine) {
  const std::vector<int> parent = allowed_cpus(::getppid());
  return mine.size() < parent.size() && std::ranges::includes(parent, mine);
}

}  // namespace

Slice plan_slice(const Topology& topology, int64_t local_rank, int64_t local_world, const std::string& mode,
                 int64_t num_workers) {
  Range range = cores_of(topology, static_cast<size_t>(local_rank), static_cast<size_t>(local_world));
  const size_t num_cores = range.second - range.first;
  Slice slice;
  slice.is_shared = static_cast<size_t>(local_world) > topology.cores.size();
  std::set<int> nodes;
  for (size_t i = range.first; i < range.second; ++i) {
    nodes.insert(topology.cores[i].numa_node);
  }
  slice.numa_nodes.assign(nodes.begin(), nodes.end());
  if (mode == "fine" && num_workers > 0 && num_cores > 1) {
    constexpr size_t kPart = 4;
    const size_t decoding = std::clamp<size_t>(num_cores / kPart, 1, static_cast<size_t>(num_workers));
    slice.loader_cpus = cpus_of(topology, {range.second - decoding, range.second});
    range.second -= decoding;
  }
  slice.cpus = cpus_of(topology, range);
  slice.threads = static_cast<int64_t>(range.second - range.first);
  return slice;
}

Slice bind(int64_t local_rank, int64_t local_world, const std::string& mode, int64_t num_workers) {
  if (mode == "none") {
    return {};
  }
  if (std::getenv("CPU_AFFINITY_CONF") != nullptr) {
    ::unsetenv("CPU_AFFINITY_CONF");
    log_warn("CPU_AFFINITY_CONF is ignored, since runtime.bind is set", {{"runtime.bind", mode}});
  }
  const std::vector<int> allowed = allowed_cpus();
  const bool is_bound = local_world > 1 && has_own_mask(allowed);
  const Slice slice = is_bound ? plan_slice(machine_topology(allowed), 0, 1, mode, num_workers)
                               : plan_slice(machine_topology(allowed), local_rank, local_world, mode, num_workers);
  bind_process(slice.cpus);
  at::set_num_threads(static_cast<int>(slice.threads));
  at::parallel_for(0, slice.threads, 1, [](int64_t, int64_t) {});  // the threads start now, and inherit the mask
  log_info("bound to processors", {{"cpus", cpu_ranges(slice.cpus)},
                                   {"decoding", cpu_ranges(slice.loader_cpus.empty() ? slice.cpus : slice.loader_cpus)},
                                   {"threads", slice.threads},
                                   {"by", is_bound ? "the launcher's mask" : mode}});
  if (slice.is_shared) {
    log_warn("there are more ranks than cores: they share them", {{"ranks", local_world}});
  }
  return slice;
}

}  // namespace flexor::dist
