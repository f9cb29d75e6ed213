#pragma once
#include <filesystem>
#include <string>

namespace flexor::data {

/// Names of the two pipelines, which are also those of their files.
inline constexpr const char* kPreprocessor = "policy_preprocessor";
inline constexpr const char* kPostprocessor = "policy_postprocessor";

/// FOLDER/NAME.json
inline std::string processor_path(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / (std::string(name) + ".json")).string();
}

}  // namespace flexor::data
