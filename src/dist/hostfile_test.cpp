#include "dist/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "base/error.h"
#include "dist/env_fixture.h"
#include "dist/local_host.h"

namespace flexor::dist {
namespace {

using ::testing::HasSubstr;

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kRuntime, "nothing was thrown"};
}

TEST(Hostfile, CommentsBlankLinesAndTabsAreRead) {
  const auto hosts =
      parse_hostfile("# nodes\n\nnode01 slots=8\n\tnode02\tslots=4 # the small one\r\n10.0.0.3 slots=1", "f");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].host, "node01");
  EXPECT_EQ(hosts[1].host, "node02");
  EXPECT_EQ(hosts[1].slots, 4);
  EXPECT_EQ(hosts[1].line, 4);
  EXPECT_EQ(hosts[2].host, "10.0.0.3");
  EXPECT_EQ(hostfile_text(hosts), "node01 slots=8\nnode02 slots=4\n10.0.0.3 slots=1\n");
}

TEST(Hostfile, EveryWrongLineIsNamed) {
  const Error error =
      error_of([] { parse_hostfile("a\nb slots=0\nc slots=x\nA slots=2\nd slots=2\nD slots=2\n", "hosts"); });
  EXPECT_EQ(error.kind(), ErrorKind::kFile);
  const std::string text = format_error(error);
  for (const char* part : {"expected 'host slots=N', found 'a'", "found 'slots=0'", "found 'slots=x'",
                           "the host 'D' stands in line 5 already", "hosts:1", "hosts:6"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Hostfile, BytesOfADamagedFileAreNotPrinted) {
  const std::string text =
      format_error(error_of([] { parse_hostfile("\x1B[2J\xFF slots=2\na slots=\x07\n", "hosts"); }));
  EXPECT_THAT(text, HasSubstr("found '\\x1b[2J\\xff slots=2'"));
  EXPECT_THAT(text, HasSubstr("found 'slots=\\x07'"));
}

TEST(Hostfile, PlatformsNameTheirNodes) {
  const auto volcano = platform_hosts(env_of({{"VC_WORKER_HOSTS", "w-0.job,w-1.job"}, {"NPROC_PER_NODE", "16"}}), {});
  EXPECT_EQ(hostfile_text(volcano), "w-0.job slots=16\nw-1.job slots=16\n");
  const Env slurm = env_of({{"SLURM_JOB_NODELIST", "gpu[07-09]"}, {"SLURM_TASKS_PER_NODE", "8(x2),4"}});
  EXPECT_EQ(hostfile_text(platform_hosts(slurm, {})), "gpu07 slots=8\ngpu08 slots=8\ngpu09 slots=4\n");
  EXPECT_EQ(hostfile_text(platform_hosts(slurm, 2)), "gpu07 slots=2\ngpu08 slots=2\ngpu09 slots=2\n");
}

TEST(Hostfile, WhatAPlatformDoesNotSayIsAskedFor) {
  EXPECT_THAT(error_of([] { platform_hosts(env_of({}), 2); }).what(), HasSubstr("no platform names the nodes"));
  EXPECT_THAT(error_of([] { platform_hosts(env_of({{"VC_WORKER_HOSTS", "a,b"}}), {}); }).hint(), HasSubstr("--nproc"));
  const auto with_tasks = [](const char* tasks) {
    return error_of(
        [tasks] { platform_hosts(env_of({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", tasks}}), {}); });
  };
  EXPECT_THAT(with_tasks("8(x3)").what(), HasSubstr("expected tasks of 2 nodes, found those of 3"));
  EXPECT_THAT(with_tasks("8(y3)").what(), HasSubstr("expected tasks of nodes as 8(x2),4"));
}

const LocalHost kNode2{.names = {"node2.cluster", "node2", "localhost"},
                       .addresses = {"127.0.0.1", "10.0.0.2", "fe80::2"}};

std::vector<std::string> no_names(const std::string&) {
  return {};
}

size_t place(const std::vector<std::string>& names, const Resolver& resolver = no_names) {
  std::vector<HostSlots> hosts;
  for (const std::string& name : names) {
    hosts.push_back({.host = name});
  }
  return find_local_host(hosts, kNode2, resolver, "hosts");
}

TEST(LocalHostPlace, IsFoundByNameOrAddress) {
  EXPECT_EQ(place({"node1", "node2"}), 1U);
  EXPECT_EQ(place({"node1", "NODE2.cluster"}), 1U);
  EXPECT_EQ(place({"10.0.0.2", "10.0.0.20"}), 0U);
  EXPECT_EQ(place({"10.0.0.1", "FE80::2"}), 1U);
  EXPECT_EQ(place({"a", "b"},
                  [](const std::string& name) {
                    return name == "b" ? std::vector<std::string>{"10.0.0.2"} : std::vector<std::string>{"10.0.0.1"};
                  }),
            1U);
}

TEST(LocalHostPlace, AnotherDomainIsAnotherMachine) {
  const Error error = error_of([] { place({"node2.elsewhere", "10.0.0.3"}); });
  EXPECT_THAT(error.what(), HasSubstr("names are node2.cluster, node2, localhost"));
  EXPECT_THAT(error.what(), HasSubstr("10.0.0.2"));
  EXPECT_EQ(error.where(), "hosts");
}

TEST(LocalHostPlace, TwoNamesOfThisMachineAreRefused) {
  EXPECT_THAT(error_of([] { place({"node2", "node1", "10.0.0.2"}); }).what(), HasSubstr("'node2' and '10.0.0.2'"));
}

TEST(LocalHost, HasAName) {
  const LocalHost local = local_host();
  EXPECT_FALSE(local.names.empty());
  EXPECT_THAT(resolve_host("127.0.0.1"), ::testing::ElementsAre("127.0.0.1"));
}

}  // namespace
}  // namespace flexor::dist
