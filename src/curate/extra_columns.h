#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "curate/rewrite_plan.h"
#include "table/parquet_writer.h"

namespace flexor::curate {

/// What episodes say beyond the format, as columns of meta/episodes: numbers, texts and lists of texts; everything else
/// as JSON texts, which read_episode_extras() knows by the schema metadata. An episode without the key has null.
class ExtraColumns {
 public:
  explicit ExtraColumns(const RewritePlan& plan);

  /// Columns for episodes [first, first + count).
  void add(size_t first, size_t count, std::vector<table::WriteColumn>& columns) const;
  std::map<std::string, std::string> metadata() const;

 private:
  enum class Kind { kBool, kInt, kFloat, kText, kTexts, kJson };
  static Kind kind_of(const Json& value);
  static Kind common_kind(Kind a, Kind b);  ///< the one that holds values of both

  const RewritePlan& plan_;
  std::vector<std::pair<std::string, Kind>> keys_;  ///< in order of appearance
};

}  // namespace flexor::curate
