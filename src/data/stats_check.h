#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "data/dataset_info.h"
#include "data/finding.h"
#include "data/row_checks.h"
#include "schema/norm_stats.h"

namespace flexor::data {

using EpisodeSummaries = std::map<int64_t, Summaries>;  ///< by episode_index

/// Statistics of the whole dataset against the data: sizes, order (min <= q01 <= ... <= max), min, max, mean and std
/// within 1e-3 of the range, features and quantiles that are missing, writers' known mistakes.
/// @param stored  by feature name; v2.1: the aggregate of the episodes
/// @param actual  of the whole dataset; features that are not in it are not compared
void check_stored_stats(const DatasetInfo& info, const schema::NormStats& stored, const Summaries& actual,
                        std::vector<Finding>& findings);

/// v2.1: the same for each line of meta/episodes_stats.jsonl. Nothing for other versions, or without that file.
/// @param episodes  those whose rows were read
void check_episode_stats(const DatasetInfo& info, const EpisodeSummaries& episodes, std::vector<Finding>& findings);

}  // namespace flexor::data
