#pragma once
#include <chrono>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace fake {

/// @return a reference that the caller owns
c10d::Backend* new_group(c10d::Store* store, int rank, int world, std::chrono::milliseconds timeout);

}  // namespace fake
