#include "dist/launch_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "base/error.h"
#include "dist/env_fixture.h"
#include "testing/error_text.h"

namespace flexor::dist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Vars = std::map<std::string, std::string>;

Launch resolve(const Vars& vars) {
  return resolve_launch(env_of(vars));
}

struct Sample {
  const char* name;
  Vars vars;
  std::string expected;
};
void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.name;
}

class LaunchRow : public ::testing::TestWithParam<Sample> {};

TEST_P(LaunchRow, IsUnderstood) {
  EXPECT_EQ(describe(resolve(GetParam().vars)), GetParam().expected);
}

const Sample kSamples[] = {
    {"alone", {}, "no launcher: rank 0 of 1"},
    {"torchrun inside of a Slurm allocation",
     {{"RANK", "9"},
      {"WORLD_SIZE", "16"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "8"},
      {"GROUP_RANK", "1"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "1234"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_RUN_ID", "x"},
      {"SLURM_PROCID", "0"},
      {"SLURM_NTASKS", "2"}},
     "torchrun: rank 9 of 16, local rank 1 of 8 on node 1, store 10.0.0.1:1234 (served by the launcher)"},
    {"deepspeed",
     {{"RANK", "3"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_SIZE", "2"},
      {"CROSS_RANK", "1"},
      {"MASTER_ADDR", "h0"},
      {"MASTER_PORT", "29501"}},
     "deepspeed: rank 3 of 4, local rank 1 of 2 on node 1, store h0:29501"},
    {"Open MPI, whose NODE_RANK is no node",
     {{"OMPI_COMM_WORLD_RANK", "2"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"OMPI_COMM_WORLD_NODE_RANK", "7"},
      {"MASTER_ADDR", "h1"}},
     "openmpi: rank 2 of 4, local rank 0 of 2 on node 1, store h1:29500"},
    {"Slurm",
     {{"SLURM_PROCID", "3"},
      {"SLURM_NTASKS", "4"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NTASKS_PER_NODE", "2"},
      {"SLURM_NODEID", "1"},
      {"SLURM_JOB_NODELIST", "gpu[07-08,11]"},
      {"SLURM_JOB_ID", "41234"}},
     "slurm: rank 3 of 4, local rank 1 of 2 on node 1, store gpu07:21234"},
    {"Slurm with unequal nodes",
     {{"SLURM_PROCID", "4"},
      {"SLURM_NTASKS", "5"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_TASKS_PER_NODE", "2(x2),1"},
      {"SLURM_NODEID", "2"},
      {"SLURM_JOB_NODELIST", "a1,b[2,4]"},
      {"MASTER_ADDR", "a1-ib"},
      {"MASTER_PORT", "777"}},
     "slurm: rank 4 of 5, local rank 0 of 1 on node 2, store a1-ib:777"},
    {"MPICH and Intel MPI",
     {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
     "mpich: rank 1 of 2, local rank 1 of 2 on node 0, store 127.0.0.1:29500"},
    {"PyTorchJob, a rank a pod",
     {{"RANK", "1"},
      {"WORLD_SIZE", "3"},
      {"MASTER_ADDR", "job-master-0"},
      {"MASTER_PORT", "23456"},
      {"PET_NNODES", "3"}},
     "pytorchjob: rank 1 of 3, local rank 0 of 1 on node 1, store job-master-0:23456"},
    {"PyTorchJob, eight ranks a pod",
     {{"RANK", "1"},
      {"WORLD_SIZE", "16"},
      {"PET_NNODES", "2"},
      {"PET_NPROC_PER_NODE", "8"},
      {"PET_NODE_RANK", "1"},
      {"PET_MASTER_ADDR", "m"},
      {"PET_MASTER_PORT", "23456"}},
     "pytorchjob: rank 8 of 16, local rank 0 of 8 on node 1, store m:23456"},
    {"ascend-operator",
     {{"RANK", "10"},
      {"WORLD_SIZE", "16"},
      {"LOCAL_RANK", "2"},
      {"LOCAL_WORLD_SIZE", "8"},
      {"NODE_RANK", "1"},
      {"MASTER_ADDR", "m"}},
     "ascend-operator: rank 10 of 16, local rank 2 of 8 on node 1, store m:29500"},
    {"rank table",
     {{"RANK_ID", "5"}, {"RANK_SIZE", "8"}, {"DEVICE_ID", "5"}, {"MASTER_ADDR", "m"}},
     "ranktable: rank 5 of 8, local rank 5 of 6 on node 0, store m:29500"},
    {"Volcano",
     {{"VC_WORKER_NUM", "2"},
      {"VC_TASK_INDEX", "1"},
      {"VC_WORKER_HOSTS", "job-worker-0.job,job-worker-1.job"},
      {"NPROC_PER_NODE", "16"}},
     "volcano: rank 16 of 32, local rank 0 of 16 on node 1, store job-worker-0.job:29500"},
    {"Volcano's older name",
     {{"VC_WORKER_NUM", "2"}, {"VK_TASK_INDEX", "0"}, {"VC_WORKER_HOSTS", "w0,w1"}},
     "volcano: rank 0 of 2, local rank 0 of 1 on node 0, store w0:29500"},
    {"by hand",
     {{"NNODES", "2"},
      {"NODE_RANK", "1"},
      {"NPROC_PER_NODE", "8"},
      {"MASTER_ADDR", "192.168.1.1"},
      {"MASTER_PORT", "6000"}},
     "hand: rank 8 of 16, local rank 0 of 8 on node 1, store 192.168.1.1:6000"},
};
INSTANTIATE_TEST_SUITE_P(Samples, LaunchRow, ::testing::ValuesIn(kSamples));

TEST(LaunchEnv, SaysWhatElseItKnows) {
  const Launch slurm = resolve({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_NODELIST", "n[1-2]"}});
  EXPECT_THAT(slurm.hosts, ElementsAre("n1", "n2"));
  EXPECT_FALSE(slurm.is_node_level);
  EXPECT_EQ(resolve({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}).restart, 2);
  EXPECT_TRUE(resolve({{"NNODES", "1"}, {"NPROC_PER_NODE", "4"}}).is_node_level);
  const Launch word = resolve({{"PET_NNODES", "1"}, {"PET_NPROC_PER_NODE", "auto"}});
  EXPECT_EQ(word.local_world, 1);
  EXPECT_THAT(word.notes, ElementsAre(HasSubstr("PET_NPROC_PER_NODE=auto")));
}

TEST(LaunchEnv, AShellInsideOfAnAllocationIsAloneAndSaysSo) {
  const Launch launch = resolve({{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "1"}});
  EXPECT_EQ(launch.world, 1);
  EXPECT_THAT(launch.notes, ElementsAre(HasSubstr("SLURM_PROCID")));
}

struct Bad {
  const char* name;
  Vars vars;
  std::string where;  ///< the variable
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class LaunchMistake : public ::testing::TestWithParam<Bad> {};

TEST_P(LaunchMistake, NamesTheVariable) {
  try {
    resolve(GetParam().vars);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_EQ(error.where(), "environment variable " + GetParam().where) << error.what();
  }
}

const Bad kMistakes[] = {
    {"no number", {{"RANK", "one"}, {"WORLD_SIZE", "2"}}, "RANK"},
    {"rest behind the number", {{"RANK", "0"}, {"WORLD_SIZE", "2x"}}, "WORLD_SIZE"},
    {"negative", {{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK"},
    {"no ranks", {{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE"},
    {"too large", {{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "RANK"},
    {"Slurm's rank too large", {{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "4"}}, "SLURM_PROCID"},
    {"more on a node than there are",
     {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}},
     "LOCAL_WORLD_SIZE"},
    {"half a pair", {{"WORLD_SIZE", "2"}}, "RANK"},
    {"the other half", {{"RANK", "1"}}, "WORLD_SIZE"},
    {"nobody says where rank 0 is", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, "MASTER_ADDR"},
    {"nor for MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}}, "MASTER_ADDR"},
    {"nor for a rank table", {{"RANK_ID", "0"}, {"RANK_SIZE", "2"}}, "MASTER_ADDR"},
    {"nor by hand", {{"NNODES", "2"}, {"NODE_RANK", "0"}}, "MASTER_ADDR"},
    {"no port", {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}, "MASTER_PORT"},
    {"no node", {{"NNODES", "2"}, {"MASTER_ADDR", "a"}}, "NODE_RANK"},
    {"a node too large", {{"NNODES", "2"}, {"NODE_RANK", "2"}, {"MASTER_ADDR", "a"}}, "NODE_RANK"},
    {"a broken host list",
     {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_NODELIST", "a[1-"}},
     "SLURM_JOB_NODELIST"},
    {"an empty host", {{"VC_WORKER_NUM", "2"}, {"VK_TASK_INDEX", "0"}, {"VC_WORKER_HOSTS", "a,,b"}}, "VC_WORKER_HOSTS"},
    {"broken numbers of tasks",
     {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_TASKS_PER_NODE", "x"}},
     "SLURM_TASKS_PER_NODE"},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, LaunchMistake, ::testing::ValuesIn(kMistakes));

TEST(HostList, ExpandsSlurmsForms) {
  EXPECT_THAT(expand_host_list("gpu[07-08,11],login", "x"), ElementsAre("gpu07", "gpu08", "gpu11", "login"));
  EXPECT_THAT(expand_host_list("r[1-2]n[9-10].lan", "x"),
              ElementsAre("r1n9.lan", "r1n10.lan", "r2n9.lan", "r2n10.lan"));
  EXPECT_THAT(expand_host_list("one", "x"), ElementsAre("one"));
  EXPECT_THAT(expand_host_list("n[098-102]", "x"), SizeIs(5));
  EXPECT_THAT(expand_host_list("", "x"), SizeIs(0));
}

TEST(HostList, RefusesOthers) {
  for (const char* list :
       {"a[1-3", "a]1[", "a[[1]]", "a[3-1]", "a[x]", "a[1,]", "a[0-9999999]", "a,,b", ",a", "a,", "a, b", "a\nb"}) {
    EXPECT_THROW(expand_host_list(list, "x"), Error) << list;
  }
}

}  // namespace
}  // namespace flexor::dist
