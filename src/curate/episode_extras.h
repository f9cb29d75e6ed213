#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/dataset_info.h"
#include "data/episode_records.h"

namespace flexor::curate {

/// Schema metadata of meta/episodes files: names of the columns that hold JSON texts, as a JSON list.
inline constexpr std::string_view kJsonColumnsKey = "flexor_json_columns";

/// What episodes.jsonl or the columns of meta/episodes say beyond the format: one object per record, null where there
/// is nothing. Columns that are no scalars, texts, or lists of these are left out with a warning.
/// @throws Error(kFile), Error(kData)
std::vector<Json> read_episode_extras(const data::DatasetInfo& info, const std::vector<data::EpisodeRecord>& records);

}  // namespace flexor::curate
