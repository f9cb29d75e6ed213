#include "config/recipe_path.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace flexor::config {
namespace {

namespace fs = std::filesystem;

TEST(RecipePath, IsMeantFromHereElseFromTheFilesFolder) {
  std::string name = ::testing::TempDir() + "recipe_XXXXXX";
  const std::string folder = ::mkdtemp(name.data());
  fs::create_directories(folder + "/a/assets");
  fs::create_directories(folder + "/b/assets");
  std::ofstream(folder + "/b/assets/only_b") << "x";
  std::ofstream(folder + "/a/assets/both") << "x";
  std::ofstream(folder + "/b/assets/both") << "x";
  const Sources sources{.files = {folder + "/a/c.yaml", folder + "/b/d.yaml"}, .overrides = {}};
  const auto resolved = [&sources](std::string path) {
    resolve_beside_recipe(path, sources);
    return path;
  };
  EXPECT_EQ(resolved("assets/both"), folder + "/a/assets/both");
  EXPECT_EQ(resolved("assets/only_b"), folder + "/b/assets/only_b");
  EXPECT_EQ(resolved("../b/assets/only_b"), folder + "/b/assets/only_b");
  EXPECT_EQ(resolved("assets/nowhere"), "assets/nowhere");
  EXPECT_EQ(resolved(folder + "/c/absolute"), folder + "/c/absolute");
  EXPECT_EQ(resolved(""), "");
  const fs::path before = fs::current_path();
  fs::current_path(folder + "/b");
  EXPECT_EQ(resolved("assets/both"), "assets/both") << "the current folder has it";
  fs::current_path(before);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace flexor::config
