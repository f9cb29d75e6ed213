#pragma once
#include "dist/socket.h"

namespace flexor::dist {

/// What came back on a connection to a store.
enum class StoreAnswer {
  kNone,    ///< nothing so far
  kStore,   ///< a store of LibTorch is there
  kClosed,  ///< the connection ended without an answer
  kOther,   ///< something else answered
};

/// Asks on a fresh connection that does not block whether a store is there, in the words with which LibTorch's client
/// starts. Its own constructor would wait for an answer that never comes, deaf to signals.
class StoreProbe {
 public:
  explicit StoreProbe(Socket socket);
  /// Waits for the answer. kNone after `wait_ms`, or earlier after a signal.
  StoreAnswer answer(int wait_ms);

 private:
  Socket socket_;
  bool is_sent_ = false;
};

}  // namespace flexor::dist
