#pragma once
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace flexor::dist {

/// What became of one rank.
struct RankEnd {
  int code = -1;  ///< exit code, 128 + signal if killed
  std::string output;
};

/// Runs a test of this program, called DISABLED_<body>, as the ranks of a launch: real processes.
class Ranks {
 public:
  /// @param set  further variables for all ranks
  Ranks(const std::string& body, int world, std::vector<std::pair<std::string, std::string>> set = {}) {
    const std::string port = std::to_string(20000 + ::getpid() % 20000 + next_port());
    for (int rank = 0; rank < world; ++rank) {
      outputs_.push_back("/tmp/flexor_ranks_" + std::to_string(::getpid()) + "_" + port + "_" + std::to_string(rank));
      const pid_t pid = ::fork();
      if (pid == 0) {
        const int out = ::open(outputs_.back().c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        auto variables = set;
        variables.insert(variables.begin(), {{"RANK", std::to_string(rank)},
                                             {"WORLD_SIZE", std::to_string(world)},
                                             {"LOCAL_WORLD_SIZE", std::to_string(world)},
                                             {"LOCAL_RANK", std::to_string(rank)},
                                             {"MASTER_PORT", port},
                                             {"OMP_NUM_THREADS", "1"}});
        for (const auto& [name, value] : variables) {
          ::setenv(name.c_str(), value.c_str(), 1);
        }
        const std::string filter = "--gtest_filter=*.DISABLED_" + body;
        ::execl("/proc/self/exe", "ranks", filter.c_str(), "--gtest_also_run_disabled_tests", nullptr);
        ::_exit(99);
      }
      pids_.push_back(pid);
    }
  }

  ~Ranks() {  // those that nobody waited for, and those that were stopped
    for (const pid_t pid : pids_) {
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
    }
    for (const std::string& output : outputs_) {
      ::unlink(output.c_str());
    }
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Waits until a rank has ended.
  RankEnd wait(int rank) {
    const auto i = static_cast<size_t>(rank);
    int status = 0;
    ::waitpid(pids_[i], &status, 0);
    pids_[i] = 0;
    std::ostringstream text;
    text << std::ifstream(outputs_[i]).rdbuf();
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), text.str()};
  }

  std::vector<RankEnd> wait_all() {
    std::vector<RankEnd> ends;
    for (size_t i = 0; i < pids_.size(); ++i) {
      ends.push_back(wait(static_cast<int>(i)));
    }
    return ends;
  }

 private:
  static int next_port() {
    static int given = 0;
    return ++given;
  }
  std::vector<pid_t> pids_;
  std::vector<std::string> outputs_;
};

}  // namespace flexor::dist
