#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "rollout.h"

namespace flexor::place_block {

/// One judged policy as JSON: `name`, `settings`, `episodes`, `successes`, `rate`, `low`, `high` (Wilson, 95 %),
/// `outcomes` (how often each), `mean_frames` and `mean_frames_success` (null without success).
Json result_json(const std::string& name, const Json& settings, const std::vector<Verdict>& verdicts);

/// The results as a Markdown table, one row each; the first one is what the others are compared with.
/// @throws Error(kData) for results of different worlds, which cannot be compared
std::string markdown_table(const std::vector<Json>& results);

}  // namespace flexor::place_block
