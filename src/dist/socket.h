#pragma once
#include <unistd.h>
#include <utility>

namespace flexor::dist {

/// A descriptor that is closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }  ///< negative if there is none

 private:
  int descriptor_;
};

}  // namespace flexor::dist
