#include "base/file.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <span>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_probe.h"

namespace flexor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileTest : public testing::Test {
 public:
  FileTest() {
    std::string name = (fs::temp_directory_path() / "flexor_file_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { fs::remove_all(folder_); }

 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  template <typename F>
  static Error error_of(F&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorKind::kRuntime, "");
  }
  /// Runs `action` in a child that then dies without destructors.
  template <typename F>
  static void in_killed_process(F&& action) {
    const pid_t child = ::fork();
    if (child == 0) {
      action();
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  fs::path folder_;
};

TEST_F(FileTest, PiecesInAnyOrderMakeOneFile) {
  {
    AtomicFile file(path("f"));
    file.reserve(10);
    file.write_at(6, std::as_bytes(std::span("ghij", 4)));
    file.write_at(0, std::as_bytes(std::span("abcdef", 6)));
    file.write_at(10, std::as_bytes(std::span("k", 1)));
    EXPECT_FALSE(fs::exists(path("f")));
    file.commit();
  }
  EXPECT_EQ(read_file(path("f")), "abcdefghijk");
  const auto too_large = [&] { AtomicFile(path("g")).reserve(int64_t{1} << 60); };
  EXPECT_EQ(error_of(too_large).kind(), ErrorKind::kFile);
  EXPECT_THAT(error_of(too_large).what(), HasSubstr("cannot make a file of 1048576.0 TiB"));
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(FileTest, ReadsWholeFilesAndNamesMissingOnes) {
  write("a", std::string("x\0y", 3));
  EXPECT_EQ(read_file(path("a")), std::string("x\0y", 3));
  EXPECT_FALSE(read_file("/proc/self/status").empty());  // its size is 0
  const Error error = error_of([&] { read_file(path("b")); });
  EXPECT_EQ(error.kind(), ErrorKind::kFile);
  EXPECT_STREQ(error.what(), "no such file");
  EXPECT_EQ(error.where(), path("b"));
  EXPECT_THAT(error_of([&] { read_file(folder_.string()); }).what(), HasSubstr("folder"));
}

TEST_F(FileTest, AtomicWriteReplacesAndLeavesNothingElse) {
  write_file_atomic(path("sub/a.txt"), "one");
  write_file_atomic(path("sub/a.txt"), "two");
  EXPECT_EQ(read_file(path("sub/a.txt")), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("sub")), fs::directory_iterator()), 1);
  struct stat info{};
  ::stat(path("sub/a.txt").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0400, 0400u);
}

TEST_F(FileTest, WhatIsNoFileIsWrittenIntoAndStays) {  // as /dev/null and /dev/stdout
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  fs::create_symlink("pipe", path("link"));
  check_output_file(path("link"));
  write_file_atomic(path("link"), "through");
  char received[8] = {};
  EXPECT_EQ(::read(reader, received, sizeof(received)), 7);
  EXPECT_STREQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(error_of([&] { AtomicFile(path("pipe")).reserve(10); }).kind(), ErrorKind::kFile);
  ::close(reader);
}

TEST_F(FileTest, AnUncommittedAtomicFileLeavesTheOldOne) {
  write("a", "old");
  {
    AtomicFile file(path("a"));
    file.write(std::string_view("new"));
  }
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(FileTest, LeftoversOfKilledWritersGoLiveOnesStay) {
  in_killed_process([&] { (new AtomicFile(path("a")))->write(std::string_view("half")); });
  EXPECT_EQ(names().size(), 1u);
  AtomicFile live(path("a"));
  EXPECT_EQ(names().size(), 1u);
  write_file_atomic(path("a"), "whole");
  EXPECT_EQ(names().size(), 2u);  // `live` was not taken for a leftover
  live.write(std::string_view("later"));
  live.commit();
  EXPECT_EQ(read_file(path("a")), "later");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(FileTest, StagedFolderAppearsWhole) {
  {
    StagedFolder staged(path("run/000100"));
    write_file_atomic(staged.path() + "/deep/a.txt", "x");
    EXPECT_FALSE(fs::exists(path("run/000100")));
    staged.commit();
  }
  EXPECT_EQ(read_file(path("run/000100/deep/a.txt")), "x");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("run")), fs::directory_iterator()), 1);
}

TEST_F(FileTest, StagedFolderReplacesAnOldOne) {
  write("t/old.txt", "old");
  StagedFolder staged(path("t"));
  write_file_atomic(staged.path() + "/new.txt", "new");
  staged.commit();
  EXPECT_TRUE(fs::exists(path("t/new.txt")));
  EXPECT_FALSE(fs::exists(path("t/old.txt")));
  EXPECT_EQ(names(), std::vector<std::string>{"t"});
}

TEST_F(FileTest, ANewStagedFolderReplacesNothing) {
  StagedFolder first(path("t")), second(path("t"));
  write_file_atomic(first.path() + "/first.txt", "1");
  write_file_atomic(second.path() + "/second.txt", "2");
  first.commit_new();
  try {
    second.commit_new();
    FAIL() << "a folder that appeared meanwhile was replaced";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("exists already"));
    EXPECT_EQ(error.where(), path("t"));
  }
  EXPECT_EQ(read_file(path("t/first.txt")), "1");
  EXPECT_FALSE(fs::exists(path("t/second.txt")));
}

TEST_F(FileTest, AbandonedAndKilledStagingLeavesNothing) {
  {
    const StagedFolder staged(path("t"));
  }
  EXPECT_TRUE(names().empty());
  in_killed_process([&] { write_file_atomic((new StagedFolder(path("t")))->path() + "/a", "x"); });
  EXPECT_EQ(names().size(), 1u);
  const StagedFolder live(path("t"));
  EXPECT_EQ(names().size(), 1u);
  const StagedFolder second(path("t"));
  EXPECT_EQ(names().size(), 2u);
}

TEST_F(FileTest, KnowsWhetherAFileIsThere) {
  write("a", "x");
  fs::create_symlink(path("a"), path("link"));
  EXPECT_TRUE(is_regular_file(path("a")));
  EXPECT_TRUE(is_regular_file(path("link")));
  EXPECT_FALSE(is_regular_file(path("none")));
  EXPECT_FALSE(is_regular_file(path("a/below")));
  EXPECT_FALSE(is_regular_file(folder_.string()));
}

TEST_F(FileTest, AFolderThatMayNotBeSearchedIsNoAbsentFile) {
  write("closed/a", "x");
  ::chmod(path("").c_str(), 0755);
  ::chmod(path("closed").c_str(), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) {  // root may search every folder
      ::_exit(2);
    }
    try {
      is_regular_file(path("closed/a"));
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("permission denied") == std::string::npos ? 1 : 0);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::chmod(path("closed").c_str(), 0755);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(FileTest, KnowsGitLfsPointers) {
  write("p", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  write("q", "version 2");
  EXPECT_TRUE(is_lfs_pointer(path("p")));
  EXPECT_FALSE(is_lfs_pointer(path("q")));
  EXPECT_FALSE(is_lfs_pointer(path("missing")));
  const Error error = error_of([&] { check_input_file(path("p")); });
  EXPECT_THAT(error.what(), HasSubstr("Git-LFS pointer"));
  EXPECT_THAT(error.hint(), HasSubstr("git lfs pull"));
  EXPECT_NO_THROW(check_input_file(path("q")));
}

TEST_F(FileTest, UnwritableFoldersAreNamedBeforeWork) {
  check_writable_folder(path("new/deep"));
  EXPECT_TRUE(fs::is_empty(path("new/deep")));
  write("file", "x");
  EXPECT_EQ(error_of([&] { check_writable_folder(path("file")); }).kind(), ErrorKind::kFile);
  EXPECT_EQ(error_of([&] { check_writable_folder(path("file/below")); }).kind(), ErrorKind::kFile);
  EXPECT_EQ(error_of([&] { check_writable_folder("/proc/flexor"); }).kind(), ErrorKind::kFile);
}

TEST_F(FileTest, OutputFilesAreTriedBeforeTheWork) {
  check_output_file(path("new/result.json"));
  EXPECT_TRUE(fs::is_empty(path("new")));
  EXPECT_THAT(error_of([&] { check_output_file(path("new")); }).what(), HasSubstr("is a folder"));
  write("file", "x");
  check_output_file(path("file"));  // will be replaced
  EXPECT_EQ(error_of([&] { check_output_file(path("file/below")); }).kind(), ErrorKind::kFile);
}

TEST_F(FileTest, FilesOfAnotherKindAreNotOverwritten) {
  check_output_file(path("page"), kHtmlPage);  // none there
  write("page", "");
  check_output_file(path("page"), kHtmlPage);
  write("page", "<!DOCTYPE html>\n<html>");
  check_output_file(path("page"), kHtmlPage);
  for (const char* other : {"{}", "<!doc", "PAR1"}) {
    write("page", other);
    EXPECT_STREQ(error_of([&] { check_output_file(path("page"), kHtmlPage); }).what(),
                 "a file is there that is no page, and is not overwritten");
  }
  EXPECT_EQ(error_of([&] { check_output_file("", kHtmlPage); }).kind(), ErrorKind::kUsage);
}

TEST_F(FileTest, FoldersWithoutPermissionAreNamed) {
  ::chmod(folder_.c_str(), 0555);
  const auto attempt = [&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) {  // root may write everywhere
      ::_exit(1);
    }
    const Error error = error_of([&] { write_file_atomic(path("a"), "x"); });
    std::fputs(format_error(error).c_str(), stderr);
    ::_exit(error.kind() == ErrorKind::kFile ? 0 : 1);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "permission denied");
  ::chmod(folder_.c_str(), 0755);
}

TEST_F(FileTest, AFullDiskIsAnErrorThatLeavesNothing) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "needs the right to mount a small file system";
  }
  const Error error = error_of([&] { write_file_atomic(path("big"), std::string(1 << 20, 'x')); });
  const std::vector<std::string> left = names();
  ::umount(folder_.c_str());
  EXPECT_EQ(error.kind(), ErrorKind::kFile);
  EXPECT_THAT(error.what(), HasSubstr("no space left"));
  EXPECT_THAT(error.hint(), HasSubstr("free some space"));
  EXPECT_TRUE(left.empty());
}

TEST_F(FileTest, MapsFilesAlsoForPrivateWriting) {
  write("a", "abc");
  write("empty", "");
  const auto shared = MappedFile::open(path("a"));
  EXPECT_EQ(std::string_view(static_cast<const char*>(shared->data()), shared->size()), "abc");
  const auto copy = MappedFile::open(path("a"), /*private_writable=*/true);
  static_cast<char*>(copy->data())[0] = 'z';
  EXPECT_EQ(read_file(path("a")), "abc");
  EXPECT_EQ(MappedFile::open(path("empty"))->size(), 0u);
  EXPECT_EQ(error_of([&] { MappedFile::open(path("none")); }).kind(), ErrorKind::kFile);
}

TEST_F(FileTest, PathsThatCannotBeUsedHaveAPlaceAndAHint) {
  write("file", "");
  fs::create_symlink("nowhere", path("dangling"));
  fs::create_symlink("loop", path("loop"));
  for (const std::string& folder : {path("file/inside"), path("file"), path("dangling"), path("loop/inside"),
                                    path(std::string(300, 'x')), std::string("/proc/x")}) {
    const Error error = error_of([&] { check_writable_folder(folder); });
    EXPECT_EQ(error.kind(), ErrorKind::kFile) << folder;
    EXPECT_EQ(error.where(), folder);
    EXPECT_FALSE(error.hint().empty()) << error.what();
  }
  try {
    (void)fs::exists(path("loop/inside"));
    ADD_FAILURE() << "a link to itself exists";
  } catch (const std::exception& exception) {  // as the standard library reports it
    const Error error = to_error(exception);
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
    EXPECT_EQ(error.where(), path("loop/inside"));
    EXPECT_THAT(error.hint(), HasSubstr("points back to itself"));
  }
}

}  // namespace
}  // namespace flexor
