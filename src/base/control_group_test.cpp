#include "base/control_group.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace flexor {
namespace {

/// A machine's files, gone at the end.
class Machine {
 public:
  Machine() : root_(std::filesystem::temp_directory_path() / ("flexor-cgroup-" + std::to_string(::getpid()))) {}
  ~Machine() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(ControlGroup, Version2TakesTheTightestLimitOnTheWayUp) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/kube/pod/box\n");
  machine.write("sys/fs/cgroup/kube/pod/box/memory.max", "max\n");
  machine.write("sys/fs/cgroup/kube/pod/memory.max", "8589934592\n");
  machine.write("sys/fs/cgroup/kube/pod/memory.current", "1048576\n");
  machine.write("sys/fs/cgroup/kube/memory.max", "17179869184\n");
  machine.write("sys/fs/cgroup/kube/pod/box/cpu.max", "max 100000\n");
  machine.write("sys/fs/cgroup/kube/cpu.max", "150000 100000\n");
  const ControlGroup group = control_group(machine.root());
  EXPECT_EQ(group.memory_limit, 8589934592);
  EXPECT_EQ(group.memory_used, 1048576);
  EXPECT_DOUBLE_EQ(group.cpus, 1.5);
}

TEST(ControlGroup, Version1HasAFolderForEachController) {
  const Machine machine;
  machine.write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n3:cpu,cpuacct:/job\n");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
  machine.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const ControlGroup group = control_group(machine.root());
  EXPECT_EQ(group.memory_limit, 1073741824);
  EXPECT_DOUBLE_EQ(group.cpus, 2);
}

TEST(ControlGroup, InsideAContainerItsOwnFilesStandAtTheTop) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/docker/0123\n");  // a path of the host that is not visible
  machine.write("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(control_group(machine.root()).memory_limit, 4096);
}

TEST(ControlGroup, WithoutLimitsThereAreNone) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/cgroup.procs", "1\n");
  const ControlGroup group = control_group(machine.root());
  EXPECT_EQ(group.memory_limit, 0);
  EXPECT_EQ(group.cpus, 0);
}

}  // namespace
}  // namespace flexor
