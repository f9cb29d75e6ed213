#include "dist/shared_work.h"

#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "dist/group_c10d.h"
#include "dist/ranks_fixture.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Group> join_work() {
  return join_group(resolve_launch(process_env()), {.timeout_s = 20});
}

/// Piece i gives i + 1 numbers i.
std::vector<double> numbers_of(int64_t piece) {
  return std::vector<double>(static_cast<size_t>(piece + 1), static_cast<double>(piece));
}

/// What was taken, and what this rank worked on.
struct Seen {
  std::vector<int64_t> taken, worked;
};

Seen share(Group& group, int64_t first, int64_t end) {
  Seen seen;
  const auto work = [&](int64_t piece) {
    seen.worked.push_back(piece);
    return numbers_of(piece);
  };
  share_work(group, first, end, work, [&](int64_t piece, std::span<const double> numbers) {
    EXPECT_EQ(std::vector<double>(numbers.begin(), numbers.end()), numbers_of(piece));
    seen.taken.push_back(piece);
  });
  return seen;
}

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t i = first; i < end; ++i) {
    all.push_back(i);
  }
  return all;
}

TEST(RankBody, DISABLED_any_number_of_pieces) {
  const auto group = join_work();
  const int64_t world = group->world();
  for (const int64_t count : {int64_t{0}, int64_t{1}, world - 1, world, world + 1, 3 * world + 2}) {
    for (const int64_t first : {int64_t{0}, int64_t{5}}) {
      const Seen seen = share(*group, first, first + count);
      EXPECT_EQ(seen.taken, range(first, first + count));
      std::vector<int64_t> own;
      for (int64_t i = first + group->rank(); i < first + count; i += world) {
        own.push_back(i);
      }
      EXPECT_EQ(seen.worked, own);
    }
  }
  group->close();
}

/// Rank 1 is signalled while it works on piece 4; its next turn does not come.
TEST(RankBody, DISABLED_a_signal_to_one) {
  install_interrupt_handlers();
  const auto group = join_work();
  std::vector<int64_t> taken;
  try {
    share_work(
        *group, 0, 100,
        [](int64_t piece) {
          if (piece == 4) {
            ::raise(SIGTERM);
          }
          return numbers_of(piece);
        },
        [&](int64_t piece, std::span<const double>) { taken.push_back(piece); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kTerminated);
  }
  EXPECT_EQ(taken, range(0, 7));  // two turns of three, and rank 0's piece of the third
  group->close();
}

TEST(RankBody, DISABLED_a_piece_fails) {
  const auto group = join_work();
  try {
    share_work(
        *group, 0, 9,
        [](int64_t piece) {
          if (piece == 4) {
            throw Error(ErrorKind::kData, "frame 4 is broken");
          }
          return numbers_of(piece);
        },
        [](int64_t, std::span<const double>) {});
    FAIL() << "no error";
  } catch (const Error& error) {
    group->report_failure(error.what());
    std::cout << format_error(error);
  }
}

/// Rank 0 is silent for longer than a collective may take.
TEST(RankBody, DISABLED_a_late_word) {
  const auto group = join_work();
  group->state().timeout_s = 0.5;
  if (group->is_main()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
  EXPECT_EQ(group->broadcast_string(group->is_main() ? "go" : ""), "go");
  EXPECT_EQ(group->broadcast_string(group->is_main() ? "on" : ""), "on");
  group->state().timeout_s = 20;
  group->close();
}

TEST(RankBody, DISABLED_no_word) {
  const auto group = join_work();
  if (group->is_main()) {
    group->report_failure("the disk is full");
    return;
  }
  try {
    group->broadcast_string({});
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
}

TEST(SharedWork, IsDoneByOneProcessPieceAfterPiece) {
  const auto group = group_of_one();
  const Seen seen = share(*group, 2, 6);
  EXPECT_EQ(seen.taken, range(2, 6));
  EXPECT_EQ(seen.worked, range(2, 6));
  EXPECT_EQ(group->broadcast_string("self"), "self");
}

TEST(SharedWork, EndsWithASignalWithinAPiece) {
  std::vector<int64_t> taken;
  try {
    share_work(
        *group_of_one(), 0, 9,
        [](int64_t piece) {
          return piece < 3 ? numbers_of(piece) : throw Error(ErrorKind::kTerminated, "stopped within a piece");
        },
        [&](int64_t piece, std::span<const double>) { taken.push_back(piece); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kTerminated);
  }
  EXPECT_EQ(taken, range(0, 3));
}

TEST(SharedWork, IsDoneOnceWhateverTheNumberOfRanks) {
  for (const int world : {2, 3}) {
    for (const RankEnd& end : Ranks("any_number_of_pieces", world).wait_all()) {
      EXPECT_EQ(end.code, 0) << end.output;
    }
  }
}

TEST(SharedWork, EndsOnAllRanksWithASignalToOne) {
  for (const RankEnd& end : Ranks("a_signal_to_one", 3).wait_all()) {
    EXPECT_EQ(end.code, 0) << end.output;
  }
}

TEST(SharedWork, EndsOnAllRanksWithThePieceThatFails) {
  Ranks failing("a_piece_fails", 3);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(failing.wait(rank).output, HasSubstr("error: rank 1 gave up: frame 4 is broken"));
  }
  EXPECT_THAT(failing.wait(1).output, HasSubstr("error: frame 4 is broken"));
}

TEST(Group, HearsTheMainRankHoweverLongItTakes) {
  for (const RankEnd& end : Ranks("a_late_word", 3).wait_all()) {
    EXPECT_EQ(end.code, 0) << end.output;
  }
  Ranks silent("no_word", 2);
  EXPECT_THAT(silent.wait(1).output, HasSubstr("error: rank 0 gave up: the disk is full"));
}

}  // namespace
}  // namespace flexor::dist
