#include "dist/orphan_guard.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace flexor::dist {
namespace {

constexpr size_t kMaxGroups = 4096;

/// The guard's whole life. Only calls that are allowed between fork and exec: the parent may have threads.
[[noreturn]] void guard(int input) {
  ::setsid();  // neither Ctrl-C nor the end of the terminal reaches it
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(signal, &ignore, nullptr);
  }
  for (int other = 0; other < 3; ++other) {
    ::close(other);  // whoever reads the output must not wait for the guard
  }
  static std::array<pid_t, kMaxGroups> groups;
  size_t count = 0;
  pid_t message = 0;
  ssize_t got = 0;
  while ((got = ::read(input, &message, sizeof message)) == static_cast<ssize_t>(sizeof message) ||
         (got < 0 && errno == EINTR)) {
    if (got < 0) {
      continue;
    }
    if (message > 0 && count < groups.size()) {
      groups[count++] = message;
    }
    for (size_t i = 0; message < 0 && i < count; ++i) {
      groups[i] = groups[i] == -message ? groups[--count] : groups[i];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    ::kill(-groups[i], SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

OrphanGuard::OrphanGuard() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorKind::kRuntime, "no pipe could be made", {}, "are too many files open?");
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[1]);
    guard(ends[0]);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
  if (pid_ < 0) {
    ::close(pipe_);
    throw Error(ErrorKind::kRuntime, "no process could be started", {}, "are there too many (ulimit -u)?");
  }
}

OrphanGuard::~OrphanGuard() {
  ::close(pipe_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void OrphanGuard::forget(pid_t group) {
  const pid_t message = -group;
  while (::write(pipe_, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace flexor::dist
