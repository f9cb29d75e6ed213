#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

/// Says which rank is gone when a collective breaks: each rank leaves a sign of life in the store every second, from a
/// thread and over a connection of its own. Nothing here throws, and nothing waits longer than a few seconds.
class Liveness {
 public:
  struct State;
  /// @param prefix  of the keys of this round  @throws what the store throws
  Liveness(const Launch& launch, const std::string& prefix);
  ~Liveness();  ///< ends the thread; waits for at most one answer of the store
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// Leaves for the others why this rank gives up, and lingers. @param is_own  the reason is this rank's; else it is
  /// what it found out about others, which is good for all
  void report(const std::string& reason, bool is_own) noexcept;
  /// Where the store ends with this process: stays for two beats, so that the others still learn from it.
  void linger() const noexcept;

  struct Verdict {
    std::vector<int64_t> gone;  ///< without a sign of life
    std::string known;          ///< what other ranks left: why one gave up, or which one is gone
    bool store_lost = false;    ///< nothing can be known
  };
  /// Takes about three seconds, unless a rank has left a reason.
  Verdict ask() noexcept;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace flexor::dist
