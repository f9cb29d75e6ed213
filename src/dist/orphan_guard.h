#pragma once
#include <sys/types.h>

namespace flexor::dist {

/// A small process beside this one that kills process groups when this one is gone, however it ended (SIGKILL
/// included): then nobody else can. It ends with this object, or after its work.
class OrphanGuard {
 public:
  /// @throws Error(kRuntime) if it cannot be started
  OrphanGuard();
  ~OrphanGuard();
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;

  /// Where a process writes its id (pid_t) to have its group watched; closed by exec.
  int pipe() const { return pipe_; }
  void forget(pid_t group);  ///< its leader is about to be reaped

 private:
  int pipe_ = -1;  ///< the guard's end of it closes when this process is gone
  pid_t pid_ = -1;
};

}  // namespace flexor::dist
