#include "dist/rank_stream.h"

#include <array>
#include <cerrno>
#include <ostream>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace flexor::dist {

RankStream::RankStream(int descriptor, const std::string& prefix, std::ostream& sink)
    : descriptor_(descriptor), relay_(prefix), sink_(&sink) {}

RankStream::RankStream(RankStream&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), relay_(std::move(other.relay_)), sink_(other.sink_) {}

RankStream::~RankStream() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void RankStream::end(std::string& lines) {
  relay_.finish(lines);
  ::close(std::exchange(descriptor_, -1));
}

void RankStream::pump() {
  std::array<char, 65536> bytes;
  std::string lines;
  while (descriptor_ >= 0 && lines.size() <= bytes.size()) {  // then the others have their turn
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got > 0) {
      relay_.add({bytes.data(), static_cast<size_t>(got)}, lines);
    } else if (got < 0 && errno == EAGAIN) {
      break;
    } else if (got == 0 || errno != EINTR) {
      end(lines);
    }
  }
  *sink_ << lines << std::flush;
}

void RankStream::drain() {
  pollfd poll{.fd = descriptor_, .events = POLLIN, .revents = 0};
  while (descriptor_ >= 0 && ::poll(&poll, 1, 0) == 1) {
    pump();
  }
  if (descriptor_ >= 0) {
    std::string lines;
    end(lines);
    *sink_ << lines << std::flush;
  }
}

}  // namespace flexor::dist
