#include "dist/spawn.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_errors.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::dist {
namespace {

/// A pipe that closes when it goes, unless its ends were taken.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorKind::kRuntime, str_cat("no pipe could be made: ", std::strerror(errno)), {},
                  "raise the number of open files (ulimit -n)");
    }
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close(size_t end) {
    if (ends[end] >= 0) {
      ::close(std::exchange(ends[end], -1));
    }
  }
  int take(size_t end) { return std::exchange(ends[end], -1); }

  std::array<int, 2> ends{-1, -1};
};

/// The environment of this process with some variables set.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(variables, [&](const auto& variable) { return variable.first == name; })) {
      result.emplace_back(text);
    }
  }
  for (const auto& [name, value] : variables) {
    result.push_back(str_cat(name, "=", value));
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

void reset_signals() {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGCHLD}) {
    ::sigaction(signal, &usual, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Of the new process: nothing but calls that are allowed after a fork.
struct Child {
  pid_t parent;
  int null, out, err, report, guard;
  char** argv;
  char** envp;

  [[noreturn]] void run() const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {  // it is gone already
      ::_exit(127);
    }
    const pid_t self = ::getpid();
    if (::write(guard, &self, sizeof self) != static_cast<ssize_t>(sizeof self)) {
      ::_exit(127);
    }
    reset_signals();
    if (::dup2(null, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0) {
      ::execve(argv[0], argv, envp);
    }
    const int code = errno;
    [[maybe_unused]] const ssize_t written = ::write(report, &code, sizeof code);
    ::_exit(127);
  }
};

/// The errno of an exec that did not come about, 0 of one that did.
int exec_error(int report) {
  int code = 0;
  ssize_t got = 0;
  while ((got = ::read(report, &code, sizeof code)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(sizeof code) ? code : 0;
}

void set_non_blocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

bool is_program(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!is_program(program)) {
      const bool is_there = ::access(program.c_str(), F_OK) == 0;
      throw Error(ErrorKind::kFile, is_there ? "not a program that may be run" : "no such program", program,
                  is_there ? str_cat("chmod +x ", program) : "");
    }
    return program;
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split_text(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    const std::string candidate = str_cat(folder.empty() ? "." : folder, "/", program);
    if (!program.empty() && is_program(candidate)) {
      return candidate;
    }
  }
  throw Error(ErrorKind::kFile, str_cat("no program '", program, "' in PATH, and no command of flexor"), "COMMAND",
              "flexor --help lists flexor's commands");
}

Spawned spawn(const std::vector<std::string>& command,
              const std::vector<std::pair<std::string, std::string>>& variables, OrphanGuard& guard) {
  std::vector<std::string> words = command, environment = environment_with(variables);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  Pipe out, err, report;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) {
    throw_file_error("cannot be opened", "/dev/null", errno);
  }
  const Child child{::getpid(),
                    null,
                    out.ends[1],
                    err.ends[1],
                    report.ends[1],
                    guard.pipe(),
                    const_cast<char**>(argv.data()),
                    const_cast<char**>(envp.data())};
  const pid_t pid = ::fork();
  if (pid == 0) {
    child.run();
  }
  const int fork_error = errno;
  ::close(null);
  if (pid < 0) {
    throw Error(ErrorKind::kRuntime, str_cat("no process could be started: ", std::strerror(fork_error)), command[0],
                "are there too many processes (ulimit -u)?");
  }
  ::setpgid(pid, pid);  // both sides do it: neither knows who is first
  report.close(1);
  if (const int code = exec_error(report.ends[0]); code != 0) {
    guard.forget(pid);
    ::waitpid(pid, nullptr, 0);
    throw Error(ErrorKind::kRuntime, str_cat("the program could not be started: ", std::strerror(code)), command[0],
                code == ENOEXEC ? "a script needs its interpreter in the first line: #!/bin/bash" : "");
  }
  set_non_blocking(out.ends[0]);
  set_non_blocking(err.ends[0]);
  return {.pid = pid, .out = out.take(0), .err = err.take(0)};
}

}  // namespace flexor::dist
