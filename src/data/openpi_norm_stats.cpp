#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/processor.h"

namespace flexor::data {

schema::NormStats read_openpi_norm_stats(const std::string& path, int64_t state_dim, int64_t action_dim) {
  check_input_file(path);
  const Json json = Json::read_file(path);
  const Json* inner = json.find("norm_stats");
  schema::NormStats all = schema::norm_stats_from_json(inner == nullptr ? json : *inner, path);
  schema::NormStats stats;
  for (const auto& [key, name, dim] :
       {std::tuple{"state", schema::kStateKey, state_dim}, std::tuple{"actions", schema::kActionKey, action_dim}}) {
    const auto it = all.find(key);
    if (it == all.end()) {
      throw Error(ErrorKind::kData, str_cat("norm_stats has no \"", key, "\""), path,
                  "flexor reads openpi's norm_stats.json with the keys state and actions");
    }
    schema::FeatureStats feature = it->second;
    for (auto& [stat, values] : feature.values) {
      if (dim > 0 && stat != "count") {
        if (static_cast<int64_t>(values.size()) < dim) {
          throw Error(ErrorKind::kData,
                      str_cat("`", stat, "` of ", key, " has ", values.size(), " values, the policy needs ", dim), path,
                      "the statistics belong to another robot");
        }
        values.resize(static_cast<size_t>(dim));
        feature.shape = {dim};
      }
    }
    stats.emplace(name, std::move(feature));
  }
  return stats;
}

}  // namespace flexor::data
