#include "config/recipe_path.h"

#include <filesystem>

namespace flexor::config {

namespace fs = std::filesystem;

void resolve_beside_recipe(std::string& path, const Sources& sources) {
  for (const std::string& file : sources.files) {
    if (path.empty() || fs::path(path).is_absolute() || fs::exists(path)) {
      return;
    }
    const fs::path beside = fs::path(file).parent_path() / path;
    if (fs::exists(beside)) {
      path = beside.lexically_normal().string();
    }
  }
}

}  // namespace flexor::config
