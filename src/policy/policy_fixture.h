#pragma once
// For tests only: a policy folder and observations for it.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/raw_batch.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::policy {

/// A pretrained_model folder of the tiny golden policy `type`, with prompts of up to 80 tokens.
inline std::string policy_folder(const std::string& type, const std::string& name) {
  const std::string folder = str_cat(::testing::TempDir(), "flexor_policy_", type, "_", name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/tokenizer");
  for (const char* file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(flexor::testing::tests_path(str_cat("golden/", type, "_tiny/", file)),
                               folder + "/" + file);
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(flexor::testing::tests_path("golden/processor/" + type))) {
    if (entry.path().filename().string().starts_with("policy_")) {
      std::filesystem::copy_file(entry.path(), std::filesystem::path(folder) / entry.path().filename());
    }
  }
  Json json = Json::read_file(folder + "/policy_preprocessor.json");
  for (Json& step : json["steps"].as_array()) {
    if (step.at("registry_name").as_string() == "tokenizer_processor") {
      step["config"]["max_length"] = 80;
    }
  }
  write_file_atomic(folder + "/policy_preprocessor.json", json.dump(2));
  std::filesystem::copy_file(flexor::testing::tests_path("data/tokenizer/tokenizer_512.model"),
                             folder + "/tokenizer/tokenizer.model");
  return folder;
}

/// Observations of that policy with random pictures and states.
inline data::RawBatch observations(int64_t size) {
  data::RawBatch raw;
  at::Generator generator = make_generator(7);
  for (const char* camera : {"base_0_rgb", "left_wrist_0_rgb"}) {
    raw.cameras.push_back(
        {str_cat("observation.images.", camera), (at::rand({size, 3, 28, 28}, generator) * 255).to(at::kByte)});
  }
  raw.state = at::rand({size, 6}, generator);
  for (int64_t b = 0; b < size; ++b) {
    raw.tasks.push_back(b % 2 == 0 ? "pick up the red block" : "fold the towel twice");
    raw.episodes.push_back(b);
    raw.frames.push_back(0);
  }
  return raw;
}

}  // namespace flexor::policy
