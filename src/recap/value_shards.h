#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace flexor::recap {

/// Folder of the values of advantages that are not complete yet: ROOT/meta/advantages[_TAG].shards.
std::string shards_folder(const std::string& root, std::string_view tag);

/// Removes the shards of a run, whole. @throws Error(kFile) if something of them stays
void remove_value_shards(const std::string& folder);

/// Values of a dataset's first frames on disk, piece by piece, so that a killed run goes on where it stopped. A folder
/// of shards (Parquet, one column) beside plan.json, which says what the values are of.
class ValueShards {
 public:
  /// Takes over the shards of a folder whose plan equals `plan`; removes those of any other, and whatever follows a gap
  /// or a broken file. @throws Error(kFile)
  ValueShards(std::string folder, const Json& plan);

  /// Values on disk, of frames 0, 1, 2, ...
  const std::vector<float>& values() const { return values_; }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  /// Forgets all but the first `count` values.
  void truncate(int64_t count);
  /// Writes one shard. @throws Error(kFile)
  void append(std::span<const float> values);
  void remove();  ///< the folder

 private:
  struct Shard {
    int64_t first;
    std::string path;
  };
  void take_over();

  std::string folder_;
  std::vector<Shard> shards_;
  std::vector<float> values_;
};

}  // namespace flexor::recap
