#include "dist/node_plan.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

#include "base/error.h"
#include "dist/env_fixture.h"
#include "dist/line_relay.h"
#include "dist/node_start.h"

namespace flexor::dist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Variables = std::map<std::string, std::string>;

const LocalHost kLocal{.names = {"node1"}, .addresses = {"10.0.0.1"}};

NodePlan plan(const NodeRequest& request, const Variables& variables = {}) {
  return plan_nodes(request, env_of(variables), kLocal, [](const std::string&) { return std::vector<std::string>(); });
}

Error refusal(const NodeRequest& request, const Variables& variables = {}) {
  try {
    plan(request, variables);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kRuntime, "nothing was thrown"};
}

/// A hostfile that is gone at the end.
class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("flexor-hosts-" + std::to_string(::getpid()))) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(NodePlan, OneNodeTakesAFreePort) {
  const NodePlan one = plan({.nproc = {4}});
  EXPECT_THAT(one.ranks, ElementsAre(4));
  EXPECT_EQ(one.master_addr, "127.0.0.1");
  EXPECT_EQ(one.master_port, 0);
  EXPECT_EQ(plan({.nproc = {4}}, {{"MASTER_PORT", "6000"}}).master_port, 6000);
  const int64_t port = free_port();
  EXPECT_GT(port, 1023);
  EXPECT_LT(port, 65536);
}

TEST(NodePlan, HostfileSaysWhichNodeThisIs) {
  const File file("node0 slots=8\nnode1 slots=4\n");
  const NodePlan found = plan({.hostfile = file.path()});
  EXPECT_EQ(found.node, 1);
  EXPECT_EQ(found.first_rank(), 8);
  EXPECT_EQ(found.local_world(), 4);
  EXPECT_EQ(found.world(), 12);
  EXPECT_EQ(found.master_addr, "node0");
  EXPECT_EQ(found.master_port, 29500);
  EXPECT_EQ(node_command(found, 0, "/opt/flexor", "/home/a b", {"train", "x=[1, 2]"}),
            "cd '/home/a b' && /opt/flexor launch --nnodes 2 --node-rank 0 --nproc 8,4 --master-addr node0 "
            "--master-port 29500 "
            "-- train 'x=[1, 2]'");
  EXPECT_EQ(plan({.hostfile = file.path(), .node_rank = 0}).node, 0);
  EXPECT_THAT(refusal({.nproc = {2}, .hostfile = file.path()}).what(), HasSubstr("--nproc"));
  EXPECT_THAT(refusal({.hostfile = file.path(), .nnodes = 3}).what(), HasSubstr("the hostfile names 2 hosts"));
  EXPECT_EQ(refusal({.hostfile = file.path() + ".missing"}).kind(), ErrorKind::kFile);
}

TEST(NodePlan, TheCommandOfANodeGivesTheSamePlanThere) {
  const NodePlan there =
      plan({.nproc = {8, 4}, .nnodes = 2, .node_rank = 1, .master_port = 29500, .master_addr = "node0"});
  EXPECT_EQ(there.first_rank(), 8);
  EXPECT_EQ(there.local_world(), 4);
  EXPECT_EQ(there.master_addr, "node0");
}

TEST(NodePlan, PlatformsThatStartOneProcessANodeNeedNoFlags) {
  const NodePlan volcano = plan({}, {{"VC_WORKER_NUM", "2"},
                                     {"VC_TASK_INDEX", "1"},
                                     {"VC_WORKER_HOSTS", "w-0.job,w-1.job"},
                                     {"NPROC_PER_NODE", "16"}});
  EXPECT_EQ(volcano.first_rank(), 16);
  EXPECT_EQ(volcano.world(), 32);
  EXPECT_EQ(volcano.master_addr, "w-0.job");
  const NodePlan hand = plan({}, {{"NNODES", "2"},
                                  {"NODE_RANK", "0"},
                                  {"NPROC_PER_NODE", "8"},
                                  {"MASTER_ADDR", "10.0.0.1"},
                                  {"MASTER_PORT", "6000"}});
  EXPECT_EQ(hand.world(), 16);
  EXPECT_EQ(hand.master_port, 6000);
  const Variables pet = {{"PET_NNODES", "2"},        {"PET_NODE_RANK", "1"},       {"PET_NPROC_PER_NODE", "8"},
                         {"PET_MASTER_ADDR", "m-0"}, {"PET_MASTER_PORT", "23456"}, {"RANK", "1"},
                         {"WORLD_SIZE", "2"}};
  EXPECT_EQ(plan({}, pet).first_rank(), 8);
  EXPECT_EQ(plan({}, pet).master_addr, "m-0");
}

TEST(NodePlan, OneRankOfALauncherOnEachNodeStandsForIt) {
  const Variables pod = {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "m-0"}, {"MASTER_PORT", "23456"}};
  EXPECT_EQ(plan({.nproc = {4}}, pod).first_rank(), 4);
  EXPECT_EQ(plan({.nproc = {4}}, pod).world(), 12);
  Variables slurm = {{"SLURM_PROCID", "1"},          {"SLURM_NTASKS", "2"},  {"SLURM_LOCALID", "0"},
                     {"SLURM_NTASKS_PER_NODE", "1"}, {"SLURM_NODEID", "1"},  {"SLURM_JOB_NODELIST", "g[1-2]"},
                     {"SLURM_JOB_ID", "7"},          {"SLURM_STEP_ID", "0"}, {"SLURM_NNODES", "2"}};
  EXPECT_EQ(plan({.nproc = {2}}, slurm).first_rank(), 2);
  EXPECT_EQ(plan({.nproc = {2}}, slurm).master_addr, "g1");
  slurm.erase("SLURM_STEP_ID");
  EXPECT_THAT(refusal({.nproc = {2}}, slurm).hint(), HasSubstr("srun --ntasks-per-node=1 flexor launch"));
  slurm["SLURM_NNODES"] = "1";
  slurm["SLURM_NTASKS"] = slurm["SLURM_NTASKS_PER_NODE"] = "8";
  EXPECT_EQ(plan({.nproc = {2}}, slurm).world(), 2) << "the batch script of a job of one node";
}

TEST(NodePlan, BadRequestsAreRefused) {
  EXPECT_THAT(refusal({}).hint(), HasSubstr("--nproc 8"));
  EXPECT_THAT(refusal({}, {{"NNODES", "2"}, {"NODE_RANK", "0"}, {"MASTER_ADDR", "a"}}).what(),
              HasSubstr("ranks is not known"));
  EXPECT_THAT(refusal({.nnodes = 2}).what(), HasSubstr("ranks on each node is missing"));
  EXPECT_THAT(refusal({.nproc = {2}, .nnodes = 2}).where(), HasSubstr("--node-rank"));
  EXPECT_THAT(refusal({.nproc = {2}, .nnodes = 2, .node_rank = 1}).where(), HasSubstr("--master-addr"));
  EXPECT_THAT(refusal({.nproc = {2}, .nnodes = 2, .node_rank = 2, .master_addr = "a"}).what(),
              HasSubstr("from 0 to 1, found 2"));
  EXPECT_THAT(refusal({.nproc = {2, 3}}).what(), HasSubstr("found 2"));
  EXPECT_THAT(refusal({.nproc = {2}}, {{"MASTER_PORT", "70000"}}).where(), HasSubstr("MASTER_PORT"));
  const Error inside =
      refusal({.nproc = {2}}, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_THAT(inside.what(), HasSubstr("rank 1 of 2"));
  EXPECT_EQ(inside.kind(), ErrorKind::kConfig);
}

TEST(RankVariables, AreTorchruns) {
  const NodePlan two = plan({.nproc = {2}, .nnodes = 2, .node_rank = 1, .master_port = 1234, .master_addr = "a"});
  const auto variables = rank_variables(two, 1, /*num_cores=*/9, env_of({}));
  for (const auto& [name, value] : Variables{{"RANK", "3"},
                                             {"WORLD_SIZE", "4"},
                                             {"LOCAL_RANK", "1"},
                                             {"LOCAL_WORLD_SIZE", "2"},
                                             {"GROUP_RANK", "1"},
                                             {"MASTER_ADDR", "a"},
                                             {"MASTER_PORT", "1234"},
                                             {"OMP_NUM_THREADS", "4"}}) {
    EXPECT_THAT(variables, ::testing::Contains(Pair(name, value)));
  }
  const Launch launch = resolve_launch([&](const std::string& name) -> std::optional<std::string> {
    for (const auto& [key, value] : variables) {
      if (key == name) {
        return value;
      }
    }
    return std::nullopt;
  });
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.local_world, 2);
  EXPECT_FALSE(launch.store_is_external);
  EXPECT_THAT(rank_variables(two, 0, 8, env_of({{"OMP_NUM_THREADS", "1"}})),
              ::testing::Not(::testing::Contains(Pair("OMP_NUM_THREADS", ::testing::_))));
}

TEST(ShellText, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_text({"a", "b c", "", "it's", "$X", "k=v,w"}), "a 'b c' '' 'it'\\''s' '$X' k=v,w");
}

std::string relayed(const std::vector<std::string>& pieces) {
  LineRelay relay("[1] ");
  std::string out;
  for (const std::string& piece : pieces) {
    relay.add(piece, out);
  }
  relay.finish(out);
  return out;
}

TEST(LineRelay, LinesStayWholeHoweverTheyArrive) {
  EXPECT_EQ(relayed({"on", "e\ntw", "o\n\nthree"}), "[1] one\n[1] two\n[1] \n[1] three\n");
  EXPECT_EQ(relayed({}), "");
}

TEST(LineRelay, CarriageReturnsEndLinesToo) {
  EXPECT_EQ(relayed({"a\r", "\nb\r\n\r\nc\n"}), "[1] a\n[1] b\n[1] \n[1] c\n");
  EXPECT_EQ(relayed({"\r10 %\r20 %\r", "done\n"}), "[1] 10 %\n[1] 20 %\n[1] done\n");
}

TEST(LineRelay, EndlessLinesGoOutInPieces) {
  const std::string big(3 << 20, 'x');
  const std::string out = relayed({big.substr(0, 1 << 20), big.substr(0, 2 << 20)});
  EXPECT_GT(std::ranges::count(out, '\n'), 1);
  EXPECT_EQ(std::ranges::count(out, 'x'), 3 << 20);
}

}  // namespace
}  // namespace flexor::dist
