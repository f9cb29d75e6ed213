#include "dist/rank_processes.h"

#include <array>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

namespace flexor::dist {
namespace {

using ::testing::HasSubstr;

struct Ended {
  LaunchOutcome outcome;
  std::string out, err;
  double seconds = 0;
};

/// `script` in a shell, once for every rank, which it finds in $R.
Ended run(const std::string& script, int num_ranks, double grace_s = 30) {
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    ranks.push_back({.rank = rank, .variables = {{"R", std::to_string(rank)}}});
  }
  std::ostringstream out, err;
  const double start = wall_seconds();
  Ended result{.outcome = run_ranks({"sh", "-c", script}, ranks, {.grace_s = grace_s}, out, err), .out = {}, .err = {}};
  result.seconds = wall_seconds() - start;
  result.out = out.str();
  result.err = err.str();
  return result;
}

/// A zombie that nobody has reaped yet does not run.
bool is_running(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

bool ends_soon(const std::string& pid) {
  for (int i = 0; i < 200 && is_running(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return !is_running(pid);
}

TEST(RankProcesses, LinesHaveTheirRankAndTheStreamsStayApart) {
  const Ended done = run("echo out $R; echo err $R >&2; printf tail", 2);
  EXPECT_EQ(done.outcome.exit_code, 0);
  for (const char* line : {"[0] out 0\n", "[1] out 1\n", "[0] tail\n", "[1] tail\n"}) {
    EXPECT_THAT(done.out, HasSubstr(line));
  }
  EXPECT_THAT(done.err, HasSubstr("[0] err 0\n"));
  EXPECT_THAT(done.err, HasSubstr("[1] err 1\n"));
  EXPECT_EQ(done.err.find("out"), std::string::npos);
}

TEST(RankProcesses, ManyLinesOfManyRanksAreNeverMixed) {
  const Ended done =
      run("i=0; while [ $i -lt 2000 ]; do echo \"line $i of $R with some text behind it\"; i=$((i+1)); done", 3);
  std::istringstream lines(done.out);
  std::vector<int> next(3, 0);
  for (std::string line; std::getline(lines, line);) {
    const int rank = line[1] - '0';
    ASSERT_EQ(line, "[" + std::to_string(rank) + "] line " + std::to_string(next[static_cast<size_t>(rank)]++) +
                        " of " + std::to_string(rank) + " with some text behind it");
  }
  EXPECT_THAT(next, ::testing::Each(2000));
}

TEST(RankProcesses, ARankThatFailsEndsTheOthers) {
  const Ended failed = run("if [ $R = 1 ]; then exit 7; fi; sleep 60", 3);
  EXPECT_EQ(failed.outcome.exit_code, 7);
  EXPECT_EQ(failed.outcome.rank, 1);
  EXPECT_FALSE(failed.outcome.was_signalled);
  EXPECT_LT(failed.seconds, 20);
}

TEST(RankProcesses, ARankThatIsKilledCountsAsItsSignal) {
  const Ended killed = run("if [ $R = 0 ]; then kill -9 $$; fi; sleep 60", 2);
  EXPECT_EQ(killed.outcome.exit_code, 128 + SIGKILL);
  EXPECT_EQ(killed.outcome.rank, 0);
  EXPECT_TRUE(killed.outcome.was_signalled);
}

TEST(RankProcesses, WhoIgnoresSigtermIsKilledAfterTheGraceTime) {
  const Ended stubborn =
      run("trap '' TERM; if [ $R = 1 ]; then sleep 0.3; exit 3; fi; while :; do sleep 1; done", 2, /*grace_s=*/0.5);
  EXPECT_EQ(stubborn.outcome.exit_code, 3);
  EXPECT_LT(stubborn.seconds, 20);  // rank 0 would go on for ever
}

TEST(RankProcesses, WhatARankLeavesBehindGoesWithIt) {
  const Ended left = run("sleep 60 & echo $!", 1);
  EXPECT_EQ(left.outcome.exit_code, 0);
  EXPECT_LT(left.seconds, 20) << "the process that was left holds the pipe";
  EXPECT_TRUE(ends_soon(left.out.substr(4, left.out.find('\n') - 4)));
}

TEST(RankProcesses, ASignalIsPassedOnToEveryRank) {
  sigset_t term;  // the sender's thread must not take it
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, nullptr);
  std::thread sender([parent = ::getpid()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    ::kill(parent, SIGTERM);
  });
  const Ended stopped = run("trap 'echo saved $R; exit 143' TERM; while :; do sleep 0.1; done", 2);
  sender.join();
  EXPECT_EQ(stopped.outcome.stopped_by, SIGTERM);
  EXPECT_EQ(stopped.outcome.exit_code, 143);
  EXPECT_THAT(stopped.out, HasSubstr("[0] saved 0"));
  EXPECT_THAT(stopped.out, HasSubstr("[1] saved 1"));
  ::sigprocmask(SIG_UNBLOCK, &term, nullptr);
}

TEST(RankProcesses, NothingIsLeftWhenTheLauncherIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    const std::string script = "sleep 61 & echo $$ $! >&" + std::to_string(ends[1]) + "; wait";
    std::ostringstream out, err;
    run_ranks({"sh", "-c", script}, {{.rank = 0, .variables = {}}}, {}, out, err);
    ::_exit(0);
  }
  std::array<char, 64> text{};
  ASSERT_GT(::read(ends[0], text.data(), text.size() - 1), 0);
  std::istringstream pids(text.data());
  std::string rank, child;
  pids >> rank >> child;
  EXPECT_TRUE(is_running(rank));
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(ends_soon(rank));
  EXPECT_TRUE(ends_soon(child)) << "what the rank started";
}

TEST(RankProcesses, ProgramsThatCannotRunAreOneError) {
  std::ostringstream out, err;
  const auto start = [&](const std::string& program) {
    try {
      run_ranks({program}, {{.rank = 0, .variables = {}}, {.rank = 1, .variables = {}}}, {}, out, err);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(start("no-such-program-anywhere"), HasSubstr("no program 'no-such-program-anywhere'"));
  EXPECT_THAT(start("/no/such/program"), HasSubstr("no such program"));
  EXPECT_THAT(start("/proc/self/status"), HasSubstr("not a program that may be run"));
}

}  // namespace
}  // namespace flexor::dist
