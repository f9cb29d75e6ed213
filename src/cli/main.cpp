#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/dispatch.h"

namespace {

// Until a command asks for a clean stop at the next step (base/interrupt.h), Ctrl-C and SIGTERM end the program at
// once: files appear complete or not at all, so there is nothing to clean up but a temporary name.
void stop_now(int signal) {
  ::_exit(signal == SIGINT ? 130 : 143);
}

/// A descriptor 0 to 2 that the caller closed would become the next file that is opened, and messages would land in it.
/// In its place stands /dev/null, opened for reading: writing messages then fails, as it should.
void hold_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) {
      ::_exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not the end of a training run
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that grows beyond `ulimit -f`
  std::signal(SIGINT, stop_now);
  std::signal(SIGTERM, stop_now);
  std::ios::sync_with_stdio(false);
  const int code = flexor::cli::dispatch(std::vector<std::string>(argv + 1, argv + argc), {std::cout, std::cerr});
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);  // nothing is left to do: a third of the time of `flexor --help` would be LibTorch tidying up
}
