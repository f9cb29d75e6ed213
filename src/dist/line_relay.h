#pragma once
#include <string>
#include <string_view>

namespace flexor::dist {

/// Cuts a stream of bytes into lines and puts a prefix before each, so that lines of several writers stay whole beside
/// each other. A line ends with \n, \r\n, or \r alone (progress bars); of the latter, empty ones are left out.
class LineRelay {
 public:
  explicit LineRelay(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Appends the lines that `bytes` complete to `out`, each as prefix, text, \n. A line of more than 1 MiB goes out in
  /// pieces.
  void add(std::string_view bytes, std::string& out);
  /// The stream has ended: what is left becomes a line.
  void finish(std::string& out);

 private:
  void end_line(std::string& out);

  std::string prefix_, line_;
  bool after_return_ = false;  ///< the last byte was \r: a \n that follows belongs to it
};

}  // namespace flexor::dist
