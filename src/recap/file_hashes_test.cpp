#include "recap/file_hashes.h"

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "recap/recap_fixture.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

class Hashes : public RecapFolder {
 protected:
  std::string write(const std::string& name, const std::string& text, int age_s = 10) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
    return path;
  }
};

TEST_F(Hashes, TellContentsApart) {
  FileHashes hashes;
  const std::string a = hashes.file(write("a", "one")), b = hashes.file(write("b", "one"));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.size(), 16U);
  EXPECT_EQ(a, hash_of_text("one"));
  EXPECT_NE(hashes.file(write("a", "onf")), a) << "the same size, another time";
  EXPECT_EQ(hashes.file(folder_ + "/nothing"), "");
  EXPECT_EQ(hashes.file(folder_), "");
}

TEST_F(Hashes, OfAFolderCoverNamesContentsAndLinks) {
  write("d/x", "1"), write("d/e/y", "2"), write("far/z", "3");
  fs::create_directory_symlink(folder_ + "/far", folder_ + "/d/link");
  const auto now = [this] { return FileHashes().folder(folder_ + "/d"); };
  const std::string before = now();
  EXPECT_EQ(before, now());
  write("far/z", "4");
  EXPECT_NE(before, now());
  write("far/z", "3");
  EXPECT_EQ(before, now());
  fs::rename(folder_ + "/d/x", folder_ + "/d/w");
  EXPECT_NE(before, now());
  fs::rename(folder_ + "/d", folder_ + "/other");
  fs::rename(folder_ + "/other/w", folder_ + "/other/x");
  EXPECT_EQ(FileHashes().folder(folder_ + "/other"), before) << "where the folder lies does not matter";
  EXPECT_EQ(FileHashes().folder(folder_ + "/other", [](std::string_view name) { return name == "none"; }), "");
  EXPECT_EQ(now(), "");
}

TEST_F(Hashes, NotedFilesAreNotReadAgainUntilTheyChange) {
  const std::string path = write("a", "one");
  FileHashes first;
  const std::string hash = first.file(path);
  Json notes = first.notes();
  ASSERT_NE(notes.find(path), nullptr);
  notes[path].as_array()[2] = Json("0123456789abcdef");
  FileHashes second(notes);
  EXPECT_EQ(second.file(path), "0123456789abcdef") << "taken from the notes";
  write("a", "one", /*age_s=*/20);
  EXPECT_EQ(FileHashes(notes).file(path), hash) << "another time: read again";
  EXPECT_EQ(FileHashes(Json("damaged")).file(path), hash);
}

TEST_F(Hashes, FreshFilesAreNotNoted) {
  const std::string path = folder_ + "/a";
  write_file_atomic(path, "one");
  FileHashes hashes;
  EXPECT_EQ(hashes.file(path), hash_of_text("one"));
  EXPECT_EQ(hashes.notes(), Json::object()) << "the next change may have the same time";
}

}  // namespace
}  // namespace flexor::recap
