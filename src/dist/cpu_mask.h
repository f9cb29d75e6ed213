#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

namespace flexor::dist {

/// Processors, by the numbers of the operating system, that a thread may run on, ascending; its control group and its
/// mask allow them. @param thread  0: the caller; a process number: its main thread
/// @return  empty if that cannot be known
std::vector<int> allowed_cpus(pid_t thread = 0);

/// Every thread of this process, and those that it starts, run on these processors only.
/// @throws Error(kRuntime) if the system refuses
void bind_process(const std::vector<int>& cpus);

/// Threads that the caller starts while this lives inherit these processors; the caller has its own back afterwards.
class ScopedCpus {
 public:
  explicit ScopedCpus(const std::vector<int>& cpus);  ///< empty: changes nothing. @throws Error(kRuntime)
  ~ScopedCpus();
  ScopedCpus(const ScopedCpus&) = delete;
  ScopedCpus& operator=(const ScopedCpus&) = delete;

 private:
  std::vector<int> before_;
};

/// "0-3,8": short text of ascending numbers.
std::string cpu_ranges(const std::vector<int>& cpus);

}  // namespace flexor::dist
