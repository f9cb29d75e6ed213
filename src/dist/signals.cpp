#include "dist/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

namespace flexor::dist {

Signals::Signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&wanted, signal);
  }
  ::sigprocmask(SIG_BLOCK, &wanted, &before_);
  descriptor_ = ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) {
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    throw Error(ErrorKind::kRuntime, "signals cannot be received", "signalfd", "are too many files open (ulimit -n)?");
  }
}

Signals::~Signals() {
  while (next()) {  // those that came last were for the work that is done
  }
  ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> Signals::next() const {
  signalfd_siginfo info{};
  return ::read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)
             ? std::optional(static_cast<int>(info.ssi_signo))
             : std::nullopt;
}

}  // namespace flexor::dist
