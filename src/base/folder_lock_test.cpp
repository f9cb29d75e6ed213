#include "base/folder_lock.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace flexor {
namespace {

class FolderLockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "flexor_lock_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(FolderLockTest, KeepsOthersOutWhileItLives) {
  std::optional<FolderLock> lock(folder_);
  try {
    const FolderLock second(folder_);
    FAIL() << "the folder was locked twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
    EXPECT_THAT(error.what(), testing::HasSubstr("another process is working in the folder"));
    EXPECT_EQ(error.where(), folder_);
  }
  lock.reset();
  EXPECT_NO_THROW(FolderLock(std::string(folder_)));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FolderLockTest, IsFreeAfterItsProcessWasKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder_);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_NO_THROW(FolderLock(std::string(folder_)));
}

TEST_F(FolderLockTest, NeedsAFolder) {
  EXPECT_THROW(FolderLock(folder_ + "/none"), Error);
}

}  // namespace
}  // namespace flexor
