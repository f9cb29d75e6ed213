#include "dist/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>

#include "base/clock.h"
#include "base/error.h"
#include "dist/ranks_fixture.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<Group> join(double timeout_s = 20) {
  return join_group(resolve_launch(process_env()), {.timeout_s = timeout_s});
}

Tensor numbers(int64_t n, at::ScalarType dtype = at::kFloat) {
  return at::arange(n, at::TensorOptions().dtype(dtype));
}

// Bodies of ranks; started by the tests below.

TEST(RankBody, DISABLED_collectives) {
  const auto group = join();
  const int64_t rank = group->rank(), world = group->world();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
    const Tensor sum = numbers(5, dtype) + rank;
    group->all_reduce(sum);
    EXPECT_TRUE(at::equal(sum, numbers(5, dtype) * world + world * (world - 1) / 2)) << sum;
  }
  EXPECT_EQ(group->all_reduce(static_cast<double>(rank), ReduceOp::kMax), static_cast<double>(world - 1));
  EXPECT_EQ(group->all_reduce(static_cast<double>(rank), ReduceOp::kMin), 0.0);
  const Tensor from_last = numbers(3) + rank;
  group->broadcast(from_last, world - 1);
  EXPECT_TRUE(at::equal(from_last, numbers(3) + (world - 1)));
  const Tensor all = at::zeros({2 * world});
  group->all_gather(at::full({2}, static_cast<double>(rank)), all);
  EXPECT_TRUE(at::equal(all.view({world, 2}).select(1, 1), numbers(world)));
  const Tensor slice = at::zeros({3});
  group->reduce_scatter(numbers(3 * world), slice);
  EXPECT_TRUE(at::equal(slice, (numbers(3) + 3 * rank) * world));
  const std::vector<std::string> texts = group->gather_bytes(std::string(static_cast<size_t>(rank * 7), 'x'));
  for (int64_t r = 0; r < world; ++r) {
    EXPECT_EQ(texts.at(static_cast<size_t>(r)).size(), static_cast<size_t>(r * 7));
  }
  group->close();
}

TEST(RankBody, DISABLED_overlap) {
  const auto group = join();
  std::vector<Tensor> tensors;
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) {
    tensors.push_back(at::full({1000}, i + static_cast<double>(group->rank())));
    pending.push_back(group->start_all_reduce(tensors.back()));
  }
  const double world = static_cast<double>(group->world());
  for (int i = 0; i < 20; ++i) {
    pending[static_cast<size_t>(i)].wait();
    pending[static_cast<size_t>(i)].wait();
    EXPECT_EQ(tensors[static_cast<size_t>(i)][999].item<double>(), i * world + world * (world - 1) / 2);
  }
  EXPECT_GT(group->waited_s(), 0.0);
  group->close();
}

TEST(RankBody, DISABLED_sub_groups) {
  const auto group = join();
  const int64_t rank = group->rank();
  const std::vector<int64_t> pair = rank < 2 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{2, 3};
  const std::vector<int64_t> across = {rank % 2, rank % 2 + 2};
  const auto inside = group->sub_group(pair, "node"), between = group->sub_group(across, "across");
  EXPECT_EQ(inside->rank(), rank % 2);
  EXPECT_EQ(inside->all_reduce(static_cast<double>(rank)), rank < 2 ? 1.0 : 5.0);
  EXPECT_EQ(between->all_reduce(static_cast<double>(rank)), rank % 2 == 0 ? 2.0 : 4.0);
  EXPECT_EQ(group->sub_group({rank}, "self")->all_reduce(3.0), 3.0);
  group->close();
}

/// The last rank leaves without a word; the others must say so.
TEST(RankBody, DISABLED_a_rank_vanishes) {
  const auto group = join(15);
  group->set_label("step 7");
  if (group->rank() == group->world() - 1) {
    ::kill(::getpid(), SIGKILL);
  }
  const Tensor sum = at::ones({1000});
  Pending not_waited_for = group->start_all_reduce(sum);
  try {
    group->all_reduce(at::ones({10}));
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
  const double start = wall_seconds();
  EXPECT_THROW(group->barrier(), Error);  // dead: at once
  EXPECT_LT(wall_seconds() - start, 0.5);
}

TEST(RankBody, DISABLED_a_rank_gives_up) {
  const auto group = join(15);
  if (group->rank() == 0) {
    group->report_failure("episode 3 is broken");
    return;
  }
  try {
    group->barrier();
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
}

TEST(RankBody, DISABLED_a_rank_stands_still) {
  const auto group = join(6);
  if (group->rank() == 1) {
    ::kill(::getpid(), SIGSTOP);
  }
  EXPECT_THROW(
      try { group->barrier(); } catch (const Error& error) {
        std::cout << format_error(error);
        throw;
      },
      Error);
}

/// Rank 1 says how much it has, and no more.
TEST(RankBody, DISABLED_bytes_of_a_rank_that_stands_still) {
  constexpr int kTimeout = 8;  // seconds: long enough to meet on a busy machine
  const auto group = join(kTimeout);
  if (group->rank() == 1) {
    group->all_reduce(3.0, ReduceOp::kMax);
    ::kill(::getpid(), SIGSTOP);
  }
  const double start = wall_seconds();
  try {
    group->gather_bytes("abc");
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
  EXPECT_LT(wall_seconds() - start, kTimeout + 12);  // the timeout, and the time to find out who it was
}

TEST(RankBody, DISABLED_not_all_come) {
  try {
    join(1);
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
}

TEST(RankBody, DISABLED_no_interface) {
  try {
    join();
    FAIL() << "no error";
  } catch (const Error& error) {
    std::cout << format_error(error);
  }
}

// The tests.

void expect_all_pass(const std::vector<RankEnd>& ends) {
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.code, 0) << end.output;
  }
}

TEST(Group, OfOneNeedsNoNetwork) {
  const auto group = join_group(Launch{}, {});
  EXPECT_EQ(group->all_reduce(4.0), 4.0);
  EXPECT_EQ(group->gather_bytes("abc"), std::vector<std::string>{"abc"});
  const Tensor copy = at::zeros({3});
  group->reduce_scatter(numbers(3), copy);
  EXPECT_TRUE(at::equal(copy, numbers(3)));
  group->barrier();
  group->close();
}

TEST(Group, CollectivesGiveTheSameOnAllRanks) {
  expect_all_pass(Ranks("collectives", 2).wait_all());
  expect_all_pass(Ranks("collectives", 3).wait_all());
}

TEST(Group, ManyCollectivesRunAtOnce) {
  expect_all_pass(Ranks("overlap", 2).wait_all());
}

TEST(Group, HasSubGroups) {
  expect_all_pass(Ranks("sub_groups", 4).wait_all());
}

// All at once, since each takes seconds.
TEST(Group, ErrorsNameTheRankAndTheReason) {
  Ranks vanishing("a_rank_vanishes", 3), giving_up("a_rank_gives_up", 2), stopping("a_rank_stands_still", 2);
  Ranks silent("bytes_of_a_rank_that_stands_still", 2);
  Ranks alone("not_all_come", 1, {{"WORLD_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "3"}});
  Ranks no_interface("no_interface", 2, {{"GLOO_SOCKET_IFNAME", "nothere0"}});
  for (int rank = 0; rank < 2; ++rank) {
    const RankEnd end = vanishing.wait(rank);
    EXPECT_EQ(end.code, 0) << end.output;
    EXPECT_THAT(end.output, HasSubstr("error: rank 2 is gone (rank " + std::to_string(rank) + ", all_reduce, step 7)"));
  }
  const std::string given_up = giving_up.wait(1).output;
  EXPECT_THAT(given_up, HasSubstr("error: rank 0 gave up: episode 3 is broken"));
  EXPECT_THAT(given_up, Not(HasSubstr("hint:")));  // nothing ran that could go on
  EXPECT_THAT(stopping.wait(0).output, HasSubstr("error: rank 1 is gone (rank 0, barrier, start)"));
  const RankEnd bytes = silent.wait(0);
  EXPECT_EQ(bytes.code, 0) << bytes.output;
  EXPECT_THAT(bytes.output, HasSubstr("error: rank 1 is gone (rank 0, all_gather, start)"));
  EXPECT_THAT(alone.wait(0).output, HasSubstr("1 of 3 ranks have come within 1 s; missing: 1, 2"));
  EXPECT_THAT(no_interface.wait(0).output, HasSubstr("no network interface 'nothere0'"));
  EXPECT_THAT(no_interface.wait(1).output,
              AnyOf(HasSubstr("GLOO_SOCKET_IFNAME"), HasSubstr("rank 0 or the launcher is gone")));
}

}  // namespace
}  // namespace flexor::dist
