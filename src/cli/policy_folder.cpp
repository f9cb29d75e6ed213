#include "cli/policy_folder.h"

#include <filesystem>

#include "base/error.h"

namespace flexor::cli {

std::string policy_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const char* inside : {"", "pretrained_model", "checkpoints/last/pretrained_model"}) {
    const fs::path folder = *inside == '\0' ? fs::path(path) : fs::path(path) / inside;
    if (fs::exists(folder / "config.json", ignored)) {
      return folder.string();
    }
  }
  if (fs::exists(fs::path(path) / "assets", ignored)) {  // openpi's checkpoints have no config.json of LeRobot's kind
    return path;
  }
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorKind::kFile, "no such policy folder", path,
                "give a run's folder, a checkpoint or its pretrained_model");
  }
  throw Error(ErrorKind::kFile, "no config.json: this is no policy folder", path,
              "give a run's folder, a checkpoint or its pretrained_model");
}

}  // namespace flexor::cli
