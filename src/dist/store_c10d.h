#pragma once
// For dist/ only: types of c10d.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/launch_env.h"

namespace flexor::dist {

// Values of a store as text.
inline std::string store_text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}
inline std::vector<uint8_t> store_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

/// The store of a launch. Waits for whoever serves it, until `timeout`. @param may_serve  rank 0 serves it itself,
/// unless the launcher does  @param prefix  of all keys
/// @throws Error(kRuntime) naming MASTER_ADDR and MASTER_PORT; Error(kInterrupted), Error(kTerminated) meanwhile
c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool may_serve, std::chrono::milliseconds timeout,
                                           const std::string& prefix);

}  // namespace flexor::dist
