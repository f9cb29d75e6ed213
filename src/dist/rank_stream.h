#pragma once
#include <iosfwd>
#include <string>

#include "dist/line_relay.h"

namespace flexor::dist {

/// stdout or stderr of one rank, on its way to ours, line by line.
class RankStream {
 public:
  /// @param descriptor  non-blocking; closed by this  @param sink  outlives this
  RankStream(int descriptor, const std::string& prefix, std::ostream& sink);
  ~RankStream();
  RankStream(RankStream&& other) noexcept;
  RankStream& operator=(RankStream&&) = delete;

  int descriptor() const { return descriptor_; }  ///< -1: the stream has ended
  /// Passes on what is there.
  void pump();
  /// Passes on what is there, and ends the stream: of a rank that has ended. What a process that outlives it still
  /// writes is nobody's.
  void drain();

 private:
  void end(std::string& lines);

  int descriptor_;
  LineRelay relay_;
  std::ostream* sink_;
};

}  // namespace flexor::dist
