#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/returns.h"

namespace flexor::recap {

/// One dataset in meta/mixture_config.yaml.
struct MixtureDataset {
  std::string name = {};
  double weight = 1.0;
  std::optional<double> return_min = {}, return_max = {};
};

/// Text in the block style of PyYAML's dump: lists at the indentation of their key, keys in their order.
std::string block_yaml(const Json& value);

/// ROOT/meta/mixture_config.yaml
std::string mixture_path(const std::string& root);

/// An existing file as JSON, {} if there is none. @throws Error(kFile), Error(kData)
Json read_mixture_config(const std::string& path);

/// What step 3 notes: ranges, datasets, and unified_threshold and positive_quantile, below tags.TAG or at top level.
/// Other keys and the order of keys stay.
void note_advantages(Json& config, const ReturnRange& range, const std::vector<MixtureDataset>& datasets,
                     const std::string& tag, double threshold, double positive_quantile);

/// Sets tags.TAG, or the keys of `entry` at top level without a tag. Other keys and the order of keys stay.
void note_tag(Json& config, const std::string& tag, Json entry);

/// What relabelling notes, with RLinf's relabel_advantages: datasets as {name, weight}, tags.TAG, advantage_tag, and
/// always threshold and quantile at top level.
/// @param keep_weights  of datasets that are listed already; false: all become 1.0, as RLinf does
void note_relabel(Json& config, const std::vector<std::string>& names, const std::string& tag, double threshold,
                  double positive_quantile, bool keep_weights);

}  // namespace flexor::recap
