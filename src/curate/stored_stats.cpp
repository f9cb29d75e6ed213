#include "curate/stored_stats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "curate/meta_files.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

using schema::FeatureStats;
using schema::NormStats;

constexpr std::string_view kPrefix = "stats/";

/// Shape of a statistic of `size` values: the feature's own, [size, 1, 1] of a picture, else [size].
std::vector<int64_t> stat_shape(const data::DatasetInfo& info, const std::string& name, int64_t size) {
  const auto feature = std::find_if(info.features.begin(), info.features.end(),
                                    [&](const data::FeatureInfo& f) { return f.recorded_name == name; });
  if (feature != info.features.end() && feature->is_camera()) {
    return {size, 1, 1};
  }
  return feature != info.features.end() && feature->size() == size && !feature->shape.empty()
             ? feature->shape
             : std::vector<int64_t>{size};
}

}  // namespace

/// Lines of v2.1 by their place in the file; row blocks of v3.0.
struct StoredStats::State {
  const data::DatasetInfo& info;
  std::ifstream lines = {};
  std::string lines_path = {};
  std::unordered_map<int64_t, std::streamoff> offsets = {};  ///< episode_index -> its line

  struct Block {
    std::string path;
    int64_t first_row = 0, count = 0;
  };
  std::vector<Block> blocks = {};
  std::unordered_map<int64_t, std::pair<size_t, int64_t>> places = {};  ///< episode_index -> block, row in it
  bool has_columns = false;                                             ///< v3.0 may be without
  std::optional<size_t> loaded = {};                                    ///< block in `block_stats`
  std::vector<NormStats> block_stats = {};
  std::optional<table::RowReader> reader = {};

  void index_lines() {
    lines_path = info.root + "/meta/episodes_stats.jsonl";
    if (!std::filesystem::exists(lines_path)) {
      return;
    }
    check_input_file(lines_path);
    lines.open(lines_path, std::ios::binary);
    std::string line;
    int64_t number = 1;
    for (std::streamoff offset = 0; std::getline(lines, line); ++number) {
      if (!trim_text(line).empty()) {
        offsets[episode_of(line, number)] = offset;
      }
      offset = lines.tellg();
    }
    lines.clear();
  }

  /// The line's episode_index: writers put it first, so that the line need not be parsed whole.
  int64_t episode_of(const std::string& line, int64_t number) const {
    constexpr std::string_view kStart = "{\"episode_index\":";
    if (line.starts_with(kStart)) {
      const size_t end = line.find_first_of(",}", kStart.size());
      if (end != std::string::npos) {
        return Json::parse(line.substr(kStart.size(), end - kStart.size()), place(number)).as_int();
      }
    }
    return Json::parse(line, place(number)).at("episode_index").as_int();
  }

  std::string place(int64_t line) const { return str_cat(lines_path, ":", line); }

  NormStats read_line(int64_t episode_index) {
    const auto found = offsets.find(episode_index);
    if (found == offsets.end()) {
      return {};
    }
    std::string line;
    lines.clear();
    lines.seekg(found->second);
    std::getline(lines, line);
    const std::string where = str_cat(lines_path, ", episode ", episode_index);
    return schema::norm_stats_from_json(Json::parse(line, where).at("stats"), where);
  }

  void index_blocks() {
    constexpr int64_t kBlockRows = 256;
    for (const std::string& path : episode_files(info.root)) {
      const auto file = table::ParquetReader::open(path);
      has_columns = has_columns || std::any_of(file.columns().begin(), file.columns().end(),
                                               [](const auto& column) { return column.name.starts_with(kPrefix); });
      const auto episodes = file.read_numeric("episode_index");
      for (int64_t first = 0; first < episodes.rows; first += kBlockRows) {
        const int64_t count = std::min(kBlockRows, episodes.rows - first);
        for (int64_t row = 0; row < count; ++row) {
          places[static_cast<int64_t>(episodes.at(first + row))] = {blocks.size(), row};
        }
        blocks.push_back({path, first, count});
      }
    }
  }

  void load(size_t block_number) {
    const Block& block = blocks[block_number];
    if (!reader || reader->path() != block.path) {
      reader.emplace(block.path);
    }
    const table::Rows rows = reader->read(block.first_row, block.count);
    block_stats.assign(static_cast<size_t>(block.count), {});
    for (const std::string& name : rows.columns()) {
      if (const size_t end = name.rfind('/'); name.starts_with(kPrefix) && end > kPrefix.size()) {
        add_column(rows.number_lists(name), name.substr(kPrefix.size(), end - kPrefix.size()), name.substr(end + 1));
      }
    }
    loaded = block_number;
  }

  void add_column(const table::NumberLists& lists, const std::string& feature, const std::string& stat) {
    for (size_t row = 0, first = 0; row < lists.ends.size(); ++row) {
      const auto end = static_cast<size_t>(lists.ends[row]);
      if (end > first) {
        FeatureStats& stats = block_stats[row][feature];
        stats.values[stat].assign(lists.values.begin() + static_cast<std::ptrdiff_t>(first),
                                  lists.values.begin() + static_cast<std::ptrdiff_t>(end));
        if (stat != "count") {
          stats.shape = stat_shape(info, feature, static_cast<int64_t>(end - first));
        }
      }
      first = end;
    }
  }
};

StoredStats::StoredStats(const data::DatasetInfo& info) : state_(new State{.info = info}) {
  if (info.major == 3) {
    state_->index_blocks();
  } else if (info.minor == 1) {
    state_->index_lines();
  }
}
StoredStats::~StoredStats() = default;
StoredStats::StoredStats(StoredStats&&) noexcept = default;

bool StoredStats::has(int64_t episode_index) const {
  return state_->offsets.contains(episode_index) || (state_->has_columns && state_->places.contains(episode_index));
}

NormStats StoredStats::read(int64_t episode_index) {
  State& s = *state_;
  if (s.info.major != 3) {
    return s.read_line(episode_index);
  }
  const auto found = s.places.find(episode_index);
  if (found == s.places.end()) {
    return {};
  }
  const auto [block, row] = found->second;
  if (s.loaded != block) {
    s.load(block);
  }
  return s.block_stats[static_cast<size_t>(row)];
}

}  // namespace flexor::curate
