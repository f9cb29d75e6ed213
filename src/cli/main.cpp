#include <alloca.h>
#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/dispatch.h"
#include "device/backend.h"

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

#ifndef __SANITIZE_ADDRESS__  // its runtime is not ready so early

bool is_variable(const char* entry, const char* name) {
  return std::strncmp(entry, name, std::strlen(name)) == 0 && entry[std::strlen(name)] == '=';
}

/// The commands that keep LibTorch's threads busy; the others are over sooner than a second start would take.
bool computes(char** argv) {
  for (char** word = argv; word[0] != nullptr && word[1] != nullptr; ++word) {
    if (word[1][0] != '-') {  // behind the flags that every command takes
      for (const char* command : {"train", "recap", "eval", "predict", "align", "bench"}) {
        if (std::strcmp(word[1], command) == 0) {
          return true;
        }
      }
      return false;
    }
  }
  return false;
}

/// LibTorch's threads spin while they wait for work, which costs several times the time on a machine that others use
/// too. Whether they do is read from the environment when the OpenMP library is loaded, and nowhere else; so unless the
/// user has decided, the program starts once more with OMP_WAIT_POLICY=PASSIVE, before any library has initialised
/// itself: that takes some 45 ms. Without /proc, or when it cannot start, it just goes on.
void wait_passively(int /*argc*/, char** argv, char** environment) {
  if (!computes(argv)) {
    return;
  }
  size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (is_variable(environment[count], "OMP_WAIT_POLICY") || is_variable(environment[count], "GOMP_SPINCOUNT")) {
      return;
    }
  }
  std::array<char, PATH_MAX> program;
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0) {
    return;
  }
  program[static_cast<size_t>(length)] = '\0';
  auto** extended = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  for (size_t i = 0; i < count; ++i) {
    extended[i] = environment[i];
  }
  static char passive[] = "OMP_WAIT_POLICY=PASSIVE";
  extended[count] = passive;
  extended[count + 1] = nullptr;
  ::execve(program.data(), argv, extended);
}

/// What the loader calls before the initialisers of the libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*first_of_all)(int, char**, char**) = &wait_passively;

#endif

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
  if (const flexor::device::Backend* backend = flexor::device::opened_backend()) {
    backend->shutdown();
  }
  ::_exit(code);  // nothing is left to do: a third of the time of `flexor --help` would be LibTorch tidying up
}
