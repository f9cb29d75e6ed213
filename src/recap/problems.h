#pragma once
#include <functional>
#include <vector>

#include "base/error.h"

namespace flexor::recap {

/// Errors of independent checks, so that all of them can be listed at once.
class Problems {
 public:
  /// Runs a check and keeps its Error; one that is known already counts once.
  /// @throws Error(kInterrupted), Error(kTerminated) of the check
  void attempt(const std::function<void()>& check);
  /// @throws Error if there is any: itself if it is the only one, else a numbered list of the first one's kind
  void raise() const;
  bool empty() const { return errors_.empty(); }

 private:
  std::vector<Error> errors_;
};

}  // namespace flexor::recap
