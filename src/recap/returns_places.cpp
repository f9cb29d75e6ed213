#include "recap/returns_places.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "recap/sidecar.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

/// Whether `inner` is `outer` or lies below it.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path a = fs::weakly_canonical(inner), b = fs::weakly_canonical(outer);
  return std::mismatch(b.begin(), b.end(), a.begin(), a.end()).first == b.end();
}

/// A copy replaces what is there: that may only be a copy that step 1 made, which has returns.
void check_replaced(const std::string& output) {
  std::error_code code;
  const bool is_new = !fs::exists(output, code) || (fs::is_directory(output) && fs::is_empty(output));
  if (!is_new && sidecar_tags(output, "returns").empty()) {
    throw Error(ErrorKind::kFile, "output_path exists and is no copy of an earlier run: it would be replaced", output,
                "give another output_path, or remove what is there");
  }
}

}  // namespace

void check_places(const std::vector<ReturnsPlace>& places) {
  std::vector<std::string> targets;
  for (const ReturnsPlace& place : places) {
    targets.push_back(fs::weakly_canonical(place.output.empty() ? place.source : place.output).string());
  }
  std::sort(targets.begin(), targets.end());
  if (const auto twice = std::adjacent_find(targets.begin(), targets.end()); twice != targets.end()) {
    throw Error(ErrorKind::kConfig, "two entries of train_data_paths write into the same dataset", *twice,
                "list each dataset once, or give one of them an output_path");
  }
  for (const ReturnsPlace& place : places) {
    for (const ReturnsPlace& other : places) {
      if (!place.output.empty() && (is_within(place.output, other.source) || is_within(other.source, place.output))) {
        throw Error(ErrorKind::kConfig, "output_path and dataset_path are the same folder, or one holds the other",
                    str_cat(place.output, ", ", other.source),
                    "leave output_path out to write into the dataset itself");
      }
    }
    if (!place.output.empty()) {
      check_replaced(place.output);
    }
  }
}

void check_merged_files(const std::string& root) {
  for (const char* name : {"/meta/stats.json", "/meta/info.json"}) {
    const std::string path = root + name;
    if (!fs::exists(path)) {
      continue;
    }
    const Json json = Json::read_file(path);
    const Json* features = json.is_object() ? json.find("features") : nullptr;
    if (!json.is_object() || (features != nullptr && !features->is_object() && !features->is_null())) {
      throw Error(ErrorKind::kData, json.is_object() ? "'features': expected an object" : "expected an object", path,
                  "restore the file from the dataset's origin");
    }
  }
}

}  // namespace flexor::recap
