#include "dist/rank_processes.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <optional>
#include <ostream>
#include <poll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/orphan_guard.h"
#include "dist/rank_stream.h"
#include "dist/signals.h"
#include "dist/spawn.h"

namespace flexor::dist {
namespace {

struct Running {
  int64_t rank;
  pid_t pid;
  RankStream out, err;
  bool has_ended = false;
};

class Supervisor {
 public:
  Supervisor(const RanksOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  ~Supervisor() {  // something was thrown: nobody is left behind
    for (Running& running : ranks_) {
      if (!running.has_ended) {
        ::kill(-running.pid, SIGKILL);
        ::waitpid(running.pid, nullptr, 0);
        guard_.forget(running.pid);
      }
    }
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start(const std::vector<std::string>& command, const RankProcess& rank) {
    const Spawned spawned = spawn(command, rank.variables, guard_);
    const std::string prefix = str_cat("[", rank.rank, "] ");
    ranks_.push_back({.rank = rank.rank,
                      .pid = spawned.pid,
                      .out = RankStream(spawned.out, prefix, out_),
                      .err = RankStream(spawned.err, prefix, err_)});
  }

  LaunchOutcome run() {
    while (std::ranges::any_of(ranks_, [](const Running& running) { return !running.has_ended; })) {
      wait();
      while (const std::optional<int> signal = signals_.next()) {
        if (*signal != SIGCHLD) {
          pass_on(*signal);
        }
      }
      for (Running& running : ranks_) {
        running.out.pump();
        running.err.pump();
      }
      reap();
      if (deadline_ && wall_seconds() >= *deadline_) {
        kill_rest();
      }
    }
    return outcome_;
  }

 private:
  /// Until there is a signal, output, or the deadline.
  void wait() const {
    std::vector<pollfd> polls = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Running& running : ranks_) {
      for (const int descriptor : {running.out.descriptor(), running.err.descriptor()}) {
        if (descriptor >= 0) {
          polls.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
        }
      }
    }
    const double left_s = deadline_ ? std::max(0.0, *deadline_ - wall_seconds()) : -1;
    ::poll(polls.data(), polls.size(), left_s < 0 ? -1 : static_cast<int>(std::ceil(left_s * 1000)));
  }

  void send(int signal) const {
    for (const Running& running : ranks_) {
      if (!running.has_ended) {
        ::kill(-running.pid, signal);
      }
    }
  }

  void start_grace() {
    if (!deadline_) {
      deadline_ = wall_seconds() + options_.grace_s;
    }
  }

  void pass_on(int signal) {
    outcome_.stopped_by = outcome_.stopped_by == 0 ? signal : outcome_.stopped_by;
    send(signal);
    start_grace();
  }

  void reap() {
    for (Running& running : ranks_) {
      siginfo_t info{};
      if (running.has_ended ||
          ::waitid(P_PID, static_cast<id_t>(running.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid == 0) {
        continue;
      }
      running.has_ended = true;
      ::kill(-running.pid, SIGKILL);  // what it started and left; its number is not free before the next line
      guard_.forget(running.pid);
      ::waitpid(running.pid, nullptr, 0);
      running.out.drain();
      running.err.drain();
      judge(running, info.si_status, info.si_code != CLD_EXITED);
    }
  }

  /// The first rank that fails ends the others.
  void judge(const Running& running, int status, bool was_signalled) {
    if (status == 0 || outcome_.exit_code != 0) {
      return;
    }
    constexpr int kSignalled = 128;  // as shells do
    outcome_.exit_code = was_signalled ? kSignalled + status : status;
    outcome_.was_signalled = was_signalled;
    outcome_.rank = running.rank;
    outcome_.pid = running.pid;
    if (outcome_.stopped_by == 0) {
      send(SIGTERM);
      start_grace();
    }
  }

  void kill_rest() {
    for (const Running& running : ranks_) {
      if (!running.has_ended) {
        log_warn("a rank did not end in time and is killed",
                 {{"rank", running.rank}, {"seconds", short_number(options_.grace_s)}});
      }
    }
    send(SIGKILL);
    deadline_.reset();
  }

  RanksOptions options_;
  std::ostream& out_;
  std::ostream& err_;
  Signals signals_;  // before the guard and the ranks: what comes meanwhile waits
  OrphanGuard guard_;
  std::vector<Running> ranks_;
  std::optional<double> deadline_;
  LaunchOutcome outcome_;
};

}  // namespace

LaunchOutcome run_ranks(const std::vector<std::string>& command, const std::vector<RankProcess>& ranks,
                        const RanksOptions& options, std::ostream& out, std::ostream& err) {
  std::vector<std::string> words = command;
  words[0] = find_program(words[0]);
  Supervisor supervisor(options, out, err);
  for (const RankProcess& rank : ranks) {
    supervisor.start(words, rank);
  }
  return supervisor.run();
}

}  // namespace flexor::dist
