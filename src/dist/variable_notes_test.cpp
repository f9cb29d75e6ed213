#include "dist/variable_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "dist/env_fixture.h"

namespace flexor::dist {
namespace {

using ::testing::HasSubstr;

std::vector<VariableNote> notes_of(const std::map<std::string, std::string>& variables,
                                   const VariableContext& context = {}) {
  return explain_variables(env_of(variables), context);
}

TEST(VariableNotes, OnlyWhatIsSetIsExplained) {
  EXPECT_TRUE(notes_of({}).empty());
  const auto notes = notes_of({{"WORLD_SIZE", "2"}, {"HOME", "/root"}});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].value, "2");
  EXPECT_THAT(notes[0].meaning, HasSubstr("all processes"));
  EXPECT_EQ(notes[0].advice, "");
}

TEST(VariableNotes, EveryLaunchVariableIsExplainedOnce) {
  std::map<std::string, std::string> all;
  for (const std::string& name : launch_variables()) {
    all[name] = "1";
  }
  std::multiset<std::string> named;
  for (const VariableNote& note : notes_of(all)) {
    named.insert(note.name);
    EXPECT_FALSE(note.meaning.empty()) << note.name;
  }
  for (const auto& [name, value] : all) {
    EXPECT_EQ(named.count(name), 1U) << name;
  }
}

TEST(VariableNotes, AdviceDependsOnTheMachine) {
  const std::map<std::string, std::string> cuda = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(notes_of(cuda)[0].advice, "");
  EXPECT_THAT(notes_of(cuda, {.on_ascend = true})[0].advice, HasSubstr("ASCEND_RT_VISIBLE_DEVICES"));
  const std::map<std::string, std::string> threads = {{"OMP_NUM_THREADS", "1"}};
  EXPECT_EQ(notes_of(threads)[0].advice, "");
  EXPECT_EQ(notes_of(threads, {.local_world = 2, .num_cores = 2})[0].advice, "");
  EXPECT_THAT(notes_of(threads, {.local_world = 2, .num_cores = 8})[0].advice, HasSubstr("torchrun sets 1"));
  const std::map<std::string, std::string> connect = {{"HCCL_CONNECT_TIMEOUT", "120"}};
  EXPECT_EQ(notes_of(connect)[0].advice, "");
  EXPECT_THAT(notes_of(connect, {.local_world = 8})[0].advice, HasSubstr("600"));
}

TEST(VariableNotes, SettingsForDebuggingAreNamed) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"ASCEND_LAUNCH_BLOCKING", "1"},
                                                                      {"TASK_QUEUE_ENABLE", "0"},
                                                                      {"INF_NAN_MODE_ENABLE", "0"},
                                                                      {"OMP_WAIT_POLICY", "ACTIVE"},
                                                                      {"CPU_AFFINITY_CONF", "1"},
                                                                      {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}}) {
    EXPECT_NE(notes_of({{name, value}})[0].advice, "") << name;
  }
}

}  // namespace
}  // namespace flexor::dist
