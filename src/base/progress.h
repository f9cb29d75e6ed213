#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace flexor {

/// Shows how far long work is, on stderr: a bar with rate and time left on a terminal, a plain line every few seconds
/// elsewhere. Thread-safe. Nothing is shown for work that ends within a second, or when logging is off.
class Progress {
 public:
  /// @param total  number of items, 0 if unknown
  Progress(std::string title, int64_t total, std::string unit);
  ~Progress();
  void advance(int64_t items = 1);
  void note(std::string text);  ///< shown at the end of the line: "loss 0.123"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor
