#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "data/episode_records.h"

namespace flexor::data {
namespace {

/// "0:6" -> {0, 6}
std::optional<std::pair<int64_t, int64_t>> parse_range(std::string_view text) {
  int64_t from = 0, to = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, from);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 1, end, to);
  return second.ec == std::errc() && second.ptr == end ? std::optional(std::pair(from, to)) : std::nullopt;
}

class Totals {
 public:
  Totals(const DatasetInfo& info, std::vector<Finding>& findings) : info_(info), findings_(findings) {}

  void compare(const std::string& key, int64_t found) {
    const Json* said = info_.json.find(key);
    if (said && said->is_number() && said->as_double() != static_cast<double>(found)) {
      warn("totals", key, str_cat(found), said->dump());
    }
  }

  void check_splits(int64_t episodes) {
    const Json* splits = info_.json.find("splits");
    if (!splits || !splits->is_object()) {
      return;
    }
    for (const auto& [name, value] : splits->as_object()) {
      const auto range = value.is_string() ? parse_range(value.as_string()) : std::nullopt;
      if (!range || range->first < 0 || range->first > range->second || range->second > episodes) {
        warn("splits", "splits." + name, str_cat("a range within 0:", episodes), value.dump());
      }
    }
  }

 private:
  void warn(const std::string& code, const std::string& key, const std::string& expected, const std::string& found) {
    findings_.push_back({.code = code,
                         .severity = Severity::kWarning,
                         .file = "meta/info.json",
                         .expected = expected,
                         .found = found,
                         .message = str_cat(key, " of info.json")});
  }

  const DatasetInfo& info_;
  std::vector<Finding>& findings_;
};

}  // namespace

void check_totals(const DatasetInfo& info, const std::vector<EpisodeRecord>& records, int64_t num_tasks,
                  std::optional<int64_t> num_videos, std::vector<Finding>& findings) {
  int64_t frames = 0;
  std::set<int64_t> chunks;
  for (const EpisodeRecord& record : records) {
    frames += record.length;
    chunks.insert(record.episode_index / info.chunks_size);
  }
  Totals totals(info, findings);
  totals.compare("total_episodes", static_cast<int64_t>(records.size()));
  totals.compare("total_frames", frames);
  totals.compare("total_tasks", num_tasks);
  if (info.major == 2) {
    if (num_videos) {
      totals.compare("total_videos", *num_videos);
    }
    totals.compare("total_chunks", static_cast<int64_t>(chunks.size()));
  }
  totals.check_splits(static_cast<int64_t>(records.size()));
}

}  // namespace flexor::data
