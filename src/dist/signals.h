#pragma once
#include <csignal>
#include <optional>

namespace flexor::dist {

/// While this lives, SIGINT, SIGTERM, SIGHUP and SIGCHLD of the calling thread (the only one) wait to be read instead
/// of doing what they do.
class Signals {
 public:
  /// @throws Error(kRuntime)
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }  ///< readable when there is one
  std::optional<int> next() const;                ///< does not wait

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace flexor::dist
