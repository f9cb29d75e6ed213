#pragma once
#include <string_view>

namespace flexor::cli {

/// Whether this process is one of several ranks, and not the first: what a single process writes is left to that one,
/// with a line that says so. @throws Error(kConfig) for launch variables that make no sense
bool is_left_to_rank_zero(std::string_view command);

}  // namespace flexor::cli
