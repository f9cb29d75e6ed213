#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flexor::curate {

/// A part of a dataset: some of its episodes, or a share of them.
struct SplitPart {
  std::string name;
  std::vector<int64_t> episodes;
  std::optional<double> share;
};
/// "train=0.8" or "val=0-9,12". @throws Error(kUsage)
SplitPart parse_split_part(const std::string& text);
/// "0-9,12" -> 0..9, 12. @throws Error(kUsage)
std::vector<int64_t> parse_episodes(const std::string& text);

/// What can be said without the dataset. @throws Error(kConfig) for parts of one name, parts that overlap, mix shares
/// and episodes, or exceed 1
void check_split_parts(const std::vector<SplitPart>& parts);

/// The episodes of each part. Shares take consecutive episodes, rounded down, the last one what is left when they sum
/// to 1.
/// @param parts  checked by check_split_parts()
/// @param total  episodes of the dataset
/// @param where  the dataset, for errors
/// @throws Error(kConfig) for a part without episodes and for episodes that the dataset has not
std::vector<std::vector<int64_t>> split_episodes(const std::vector<SplitPart>& parts, int64_t total,
                                                 const std::string& where);

}  // namespace flexor::curate
