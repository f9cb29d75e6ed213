#pragma once
#include <string>
#include <utility>
#include <vector>

#include "dist/group.h"

namespace flexor::dist {

/// What all ranks must agree on, in order: name and value.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// One exchange, before anything costly is made or written: facts are those of rank 0, clocks agree to a minute.
/// @throws Error(kRuntime) on all ranks, naming the first rank that differs, and the fact with both values
void check_alike(Group& group, const Facts& facts);

/// Hash of the program's own file, as text.
std::string program_hash();

}  // namespace flexor::dist
