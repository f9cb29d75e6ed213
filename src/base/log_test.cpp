#include "base/log.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/trace.h"

namespace flexor {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Log, ALineIsOneEventWithItsPairs) {
  CaptureStderr();
  log_info("checkpoint loaded", {{"tensors", 812}, {"path", "a b"}, {"ok", true}});
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("info checkpoint loaded tensors=812 path=\"a b\" ok=true\n"));
}

TEST(Log, LevelsAreKept) {
  CaptureStderr();
  log_debug("hidden");
  set_log_level(LogLevel::kWarn);
  log_info("hidden");
  log_warn("shown");
  set_log_level(LogLevel::kOff);
  log_warn("hidden");
  set_log_level(LogLevel::kInfo);
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(text, HasSubstr("warning shown"));
}

TEST(Log, LinesOfManyThreadsStayWhole) {
  CaptureStderr();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 50; ++k) {
        log_info("line", {{"thread", i}, {"number", k}});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::istringstream text(GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    EXPECT_THAT(line, testing::MatchesRegex(".* info line thread=[0-3] number=[0-9]+"));
  }
  EXPECT_EQ(count, 200);
}

TEST(Progress, ShortWorkShowsNothing) {
  CaptureStderr();
  {
    Progress progress("work", 10, "items");
    progress.advance(10);
  }
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(Interrupt, SignalsOnlySetFlags) {
  install_interrupt_handlers();
  EXPECT_NO_THROW(check_interrupt());
  std::raise(SIGTERM);
  EXPECT_TRUE(terminated());
  try {
    check_interrupt();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.kind()), 143);
  }
  std::raise(SIGINT);
  EXPECT_TRUE(interrupted());
  EXPECT_EXIT(std::raise(SIGINT), testing::ExitedWithCode(130), "");
}

TEST(Trace, AddsUpSecondsAndPassesPerName) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const TraceScope scope("test.sleep");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<TraceTotal> totals = trace_totals();
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].name, "test.sleep");
  EXPECT_EQ(totals[0].passes, 4);
  EXPECT_GE(totals[0].seconds, 0.019);
}

TEST(Clock, CpuTimeAndMemoryMove) {
  const double start = process_cpu_seconds(), wall = wall_seconds();
  while (process_cpu_seconds() - start < 0.01) {
  }
  EXPECT_GE(wall_seconds() - wall, 0.004);
  EXPECT_GT(peak_rss_bytes(), 1 << 20);
}

}  // namespace
}  // namespace flexor
