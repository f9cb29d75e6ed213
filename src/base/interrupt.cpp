#include "base/interrupt.h"

#include <csignal>
#include <unistd.h>

#include "base/error.h"

namespace flexor {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;  // what a signal handler may touch
volatile std::sig_atomic_t terminate_count = 0;

void on_interrupt(int) {
  if (interrupt_count != 0) {
    ::_exit(exit_code(ErrorKind::kInterrupted));
  }
  interrupt_count = 1;
}

void on_terminate(int) {
  terminate_count = 1;
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_interrupt_handlers() {
  install(SIGINT, on_interrupt);
  install(SIGTERM, on_terminate);
}

bool interrupted() {
  return interrupt_count != 0;
}

bool terminated() {
  return terminate_count != 0;
}

void check_interrupt() {
  if (interrupted()) {
    throw Error(ErrorKind::kInterrupted, "stopped by Ctrl-C");
  }
  if (terminated()) {
    throw Error(ErrorKind::kTerminated, "stopped by SIGTERM");
  }
}

}  // namespace flexor
