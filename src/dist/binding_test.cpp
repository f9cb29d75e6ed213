#include "dist/binding.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <thread>

#include "base/error.h"
#include "dist/cpu_mask.h"

namespace flexor::dist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> cpus_between(int first, int last) {
  std::vector<int> cpus(static_cast<size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

Slice coarse(const Topology& machine, int64_t rank, int64_t ranks) {
  return plan_slice(machine, rank, ranks, "coarse", 2);
}

TEST(Topology, SyntheticMachinesAreRead) {
  const Topology machine = synthetic_topology("node:2 core:8 pu:1");
  EXPECT_EQ(machine.cores.size(), 16U);
  EXPECT_THAT(machine.nodes(), ElementsAre(0, 1));
  EXPECT_EQ(machine.cpus(), cpus_between(0, 15));
  EXPECT_EQ(machine.cores[8].numa_node, 1);
  EXPECT_THROW(synthetic_topology("nonsense"), Error);
  EXPECT_THROW(synthetic_topology("node:1 core:2 pu:1", {7}), Error) << "no core is left";
}

TEST(PlanSlice, RanksAreMatchedWithNumaNodes) {
  const Topology machine = synthetic_topology("node:2 core:8 pu:1");
  EXPECT_EQ(coarse(machine, 0, 1).cpus, cpus_between(0, 15));
  EXPECT_EQ(coarse(machine, 0, 2).cpus, cpus_between(0, 7));
  EXPECT_EQ(coarse(machine, 1, 2).cpus, cpus_between(8, 15));
  EXPECT_THAT(coarse(machine, 1, 2).numa_nodes, ElementsAre(1));
  EXPECT_EQ(coarse(machine, 2, 4).cpus, cpus_between(8, 11));
  EXPECT_EQ(coarse(machine, 2, 4).threads, 4);
  const Topology four = synthetic_topology("node:4 core:4 pu:1");
  EXPECT_EQ(coarse(four, 1, 2).cpus, cpus_between(8, 15)) << "two nodes for each rank";
  EXPECT_THAT(coarse(four, 1, 2).numa_nodes, ElementsAre(2, 3));
}

TEST(PlanSlice, EveryCoreBelongsToExactlyOneRank) {
  for (const char* description :
       {"node:2 core:8 pu:1", "node:1 core:7 pu:2", "node:3 core:5 pu:1", "node:2 package:2 core:3 pu:2"}) {
    const Topology machine = synthetic_topology(description);
    for (int64_t ranks = 1; ranks <= static_cast<int64_t>(machine.cores.size()); ++ranks) {
      for (const char* mode : {"coarse", "fine"}) {
        std::multiset<int> used;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const Slice slice = plan_slice(machine, rank, ranks, mode, 2);
          EXPECT_GE(slice.threads, 1);
          used.insert(slice.cpus.begin(), slice.cpus.end());
          used.insert(slice.loader_cpus.begin(), slice.loader_cpus.end());
        }
        EXPECT_EQ(std::vector<int>(used.begin(), used.end()), machine.cpus())
            << description << " " << ranks << " " << mode;
      }
    }
  }
}

TEST(PlanSlice, HardwareThreadsStayWithTheirCore) {
  const Topology machine = synthetic_topology("node:1 core:4 pu:2");
  const Slice slice = coarse(machine, 1, 2);
  EXPECT_EQ(slice.cpus, cpus_between(4, 7));
  EXPECT_EQ(slice.threads, 2) << "one thread for each core";
}

TEST(PlanSlice, ARestrictedSetOfProcessorsIsAllThereIs) {
  const Topology machine = synthetic_topology("node:2 core:8 pu:1", {2, 3, 4, 5, 8, 9, 10, 11});
  EXPECT_EQ(coarse(machine, 0, 2).cpus, cpus_between(2, 5));
  EXPECT_EQ(coarse(machine, 1, 2).cpus, cpus_between(8, 11));
  const Topology one_node = synthetic_topology("node:2 core:8 pu:1", {1, 3, 5});
  EXPECT_THAT(coarse(one_node, 1, 3).cpus, ElementsAre(3));
}

TEST(PlanSlice, NodesOfVeryDifferentSizeAreNotMatched) {
  const Topology machine = synthetic_topology("node:2 core:8 pu:1", {0, 8, 9, 10, 11, 12, 13, 14});
  EXPECT_THAT(coarse(machine, 0, 2).cpus, ElementsAre(0, 8, 9, 10));
  EXPECT_EQ(coarse(machine, 1, 2).threads, 4);
}

TEST(PlanSlice, MoreRanksThanCoresShareThem) {
  const Topology machine = synthetic_topology("node:1 core:2 pu:1");
  EXPECT_THAT(coarse(machine, 2, 3).cpus, ElementsAre(0));
  EXPECT_TRUE(coarse(machine, 2, 3).is_shared);
  EXPECT_FALSE(coarse(machine, 1, 2).is_shared);
}

TEST(PlanSlice, FineKeepsDecodingApart) {
  const Topology machine = synthetic_topology("node:2 core:8 pu:1");
  const Slice slice = plan_slice(machine, 1, 2, "fine", 8);
  EXPECT_EQ(slice.cpus, cpus_between(8, 13));
  EXPECT_EQ(slice.loader_cpus, cpus_between(14, 15)) << "a quarter of eight cores";
  EXPECT_EQ(slice.threads, 6);
  EXPECT_THAT(plan_slice(machine, 0, 2, "fine", 1).loader_cpus, ElementsAre(7)) << "no more than decode";
  EXPECT_THAT(plan_slice(machine, 0, 2, "fine", 0).loader_cpus, IsEmpty());
  EXPECT_THAT(plan_slice(machine, 3, 16, "fine", 4).loader_cpus, IsEmpty()) << "a single core is for both";
  EXPECT_THAT(coarse(machine, 0, 2).loader_cpus, IsEmpty());
}

TEST(CpuMask, RangesAreShort) {
  EXPECT_EQ(cpu_ranges({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(cpu_ranges({}), "");
}

TEST(CpuMask, ThreadsInheritTheScope) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  std::vector<int> inside;
  {
    const ScopedCpus scope({before.back()});
    std::thread([&] { inside = allowed_cpus(); }).join();
  }
  EXPECT_THAT(inside, ElementsAre(before.back()));
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Topology, ThisMachineKeepsToWhatIsAllowed) {
  const std::vector<int> allowed = allowed_cpus();
  EXPECT_EQ(machine_topology(allowed).cpus(), allowed);
  EXPECT_THAT(machine_topology({allowed[0]}).cpus(), ElementsAre(allowed[0]));
}

/// What a process of its own says, since binding cannot be taken back.
TEST(Bind, SetsMaskAndThreadsOnce) {
  EXPECT_EXIT(
      {
        ::setenv("CPU_AFFINITY_CONF", "1", 1);
        const std::vector<int> before = allowed_cpus();
        const Slice none = bind(0, 1, "none", 2);
        const bool is_untouched = none.cpus.empty() && std::getenv("CPU_AFFINITY_CONF") != nullptr;
        const Slice slice = bind(0, static_cast<int64_t>(machine_topology(before).cores.size()), "coarse", 2);
        std::vector<int> inherited;
        std::thread([&] { inherited = allowed_cpus(); }).join();
        const bool is_bound = slice.threads == 1 && allowed_cpus() == slice.cpus && inherited == slice.cpus;
        ::_exit(is_untouched && is_bound && std::getenv("CPU_AFFINITY_CONF") == nullptr ? 42 : 1);
      },
      ::testing::ExitedWithCode(42), "CPU_AFFINITY_CONF is ignored");
}

}  // namespace
}  // namespace flexor::dist
