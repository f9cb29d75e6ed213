#pragma once
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "curate/damaged_dataset_fixture.h"
#include "curate/verify.h"
#include "data/finding.h"

// Ways to damage a dataset, and the finding that must come of each. Used by verify*_test.cpp.
namespace flexor::curate {

struct WantedFinding {
  std::string code, file;
  std::optional<int64_t> episode = {}, frame = {};
  std::string feature = {};
};

struct Damage {
  std::string name, dataset;
  std::function<void(const DamagedDataset&)> make;
  data::Severity severity = data::Severity::kError;
  WantedFinding wanted;
};
inline void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}

using D = const DamagedDataset&;
using Columns = DamagedDataset::Columns;

inline Damage error(std::string name, std::string dataset, std::function<void(D)> make, WantedFinding wanted) {
  return {std::move(name), std::move(dataset), std::move(make), data::Severity::kError, std::move(wanted)};
}
inline Damage warning(std::string name, std::string dataset, std::function<void(D)> make, WantedFinding wanted) {
  return {std::move(name), std::move(dataset), std::move(make), data::Severity::kWarning, std::move(wanted)};
}

inline std::string parquet(int episode) {
  return str_cat("data/chunk-000/episode_00000", episode, ".parquet");
}
inline std::string top(int episode) {
  return str_cat("videos/chunk-000/observation.images.top/episode_00000", episode, ".mp4");
}
inline std::string wrist(int episode) {
  return str_cat("videos/chunk-000/observation.images.wrist/episode_00000", episode, ".mp4");
}

inline constexpr const char* kInfo = "meta/info.json";
inline constexpr const char* kTasks = "meta/tasks.jsonl";
inline constexpr const char* kEpisodes = "meta/episodes.jsonl";
inline constexpr const char* kEpisodeStats = "meta/episodes_stats.jsonl";
inline constexpr const char* kV3Episodes = "meta/episodes/chunk-000/file-000.parquet";
inline constexpr const char* kV3Data = "data/chunk-000/file-000.parquet";
inline constexpr const char* kV3Top = "videos/observation.images.top/chunk-000/file-000.mp4";
inline constexpr const char* kTop = "observation.images.top";
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr const char* kPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n";

std::string text_of(const std::vector<data::Finding>& findings);
/// What training makes of a dataset: nothing, or the error with which it refuses.
std::string train_error(const std::string& root);

/// The finding is there with its place, and training decides as verify does.
void expect_reported(const Damage& damage);

}  // namespace flexor::curate
