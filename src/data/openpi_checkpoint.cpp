#include "data/openpi_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "schema/openpi_policy.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

/// The one norm_stats.json below assets/ (an asset id may contain a slash), "" if there is none.
std::string find_norm_stats(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(folder) / "assets", ignored)) {
    if (entry.path().filename() == "norm_stats.json") {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 1) {
    throw Error(ErrorKind::kCheckpoint, str_cat("several statistics: ", join_text(found, ", ")), folder,
                "name one: policy.norm_stats=FILE");
  }
  return found.empty() ? std::string() : found[0];
}

/// The length of a feature by the statistics.
void set_width(schema::PolicyFeature& feature, const schema::NormStats& stats) {
  if (const auto it = stats.find(feature.name); it != stats.end()) {
    feature.shape = {static_cast<int64_t>(it->second.at("mean").size())};
  }
}

}  // namespace

std::optional<OpenpiCheckpoint> read_openpi_checkpoint(const std::string& folder, const std::string& norm_stats) {
  std::optional<schema::PolicyConfig> policy = schema::read_openpi_policy(folder);
  if (!policy) {
    return std::nullopt;
  }
  const std::string stats_path = norm_stats.empty() ? find_norm_stats(folder) : norm_stats;
  schema::NormStats stats = stats_path.empty() ? schema::NormStats{} : read_openpi_norm_stats(stats_path);
  set_width(policy->input_features.back(), stats);
  set_width(policy->output_features.back(), stats);
  OpenpiCheckpoint checkpoint{.policy = *policy, .processor = make_processor_config(*policy, std::move(stats))};
  checkpoint.processor.formula = NormFormula::kOpenpi;
  checkpoint.processor.prompt = policy->is_pi05() ? PromptStyle::kState : PromptStyle::kOpenpi;
  return checkpoint;
}

}  // namespace flexor::data
