#include "dist/cpu_mask.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sched.h>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::dist {
namespace {

constexpr size_t kWords = 1024;  // 65536 processors: the kernel's limit is 8192
using Mask = std::vector<cpu_set_t>;

Mask empty_mask() {
  return Mask(kWords * sizeof(unsigned long) / sizeof(cpu_set_t));
}

size_t mask_bytes(const Mask& mask) {
  return mask.size() * sizeof(cpu_set_t);
}

void set_cpus(pid_t thread, const std::vector<int>& cpus) {
  Mask mask = empty_mask();
  for (const int cpu : cpus) {
    CPU_SET_S(static_cast<size_t>(cpu), mask_bytes(mask), mask.data());
  }
  if (::sched_setaffinity(thread, mask_bytes(mask), mask.data()) != 0 && errno != ESRCH) {  // a thread may have ended
    throw Error(ErrorKind::kRuntime,
                str_cat("threads could not be bound to processors ", cpu_ranges(cpus), ": ", std::strerror(errno)),
                "runtime.bind", "runtime.bind=none leaves them where they are");
  }
}

}  // namespace

std::vector<int> allowed_cpus(pid_t thread) {
  Mask mask = empty_mask();
  std::vector<int> cpus;
  if (::sched_getaffinity(thread, mask_bytes(mask), mask.data()) != 0) {
    return cpus;
  }
  for (size_t cpu = 0; cpu < mask_bytes(mask) * 8; ++cpu) {
    if (CPU_ISSET_S(cpu, mask_bytes(mask), mask.data())) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

void bind_process(const std::vector<int>& cpus) {
  set_cpus(0, cpus);
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", code)) {
    set_cpus(static_cast<pid_t>(std::stol(entry.path().filename().string())), cpus);
  }
}

ScopedCpus::ScopedCpus(const std::vector<int>& cpus) {
  if (!cpus.empty()) {
    before_ = allowed_cpus();
    set_cpus(0, cpus);
  }
}

ScopedCpus::~ScopedCpus() {
  try {
    if (!before_.empty()) {
      set_cpus(0, before_);
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the thread stays where it is, slower and right
  }
}

std::string cpu_ranges(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size(); ++i) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
      ++last;
    }
    text += str_cat(text.empty() ? "" : ",", cpus[i]);
    if (last > i) {
      text += str_cat("-", cpus[last]);
    }
    i = last;
  }
  return text;
}

}  // namespace flexor::dist
