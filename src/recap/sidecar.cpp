#include "recap/sidecar.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "recap/recap_config.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

std::string shown_tag(std::string_view tag) {
  return tag.empty() ? "none" : str_cat("'", tag, "'");
}

template <typename T>
std::vector<T> values_as(table::NumericColumn column, std::string_view name, const std::string& path) {
  if (column.width != 1) {
    throw Error(ErrorKind::kData, str_cat("column ", name, " has ", column.width, " values a row, expected 1"), path);
  }
  if (auto* same = std::get_if<std::vector<T>>(&column.values)) {
    return std::move(*same);
  }
  std::vector<T> result(static_cast<size_t>(column.rows));
  for (int64_t row = 0; row < column.rows; ++row) {
    result[static_cast<size_t>(row)] = static_cast<T>(column.at(row));
  }
  return result;
}

template <typename T>
void check_finite(const std::vector<T>& values, std::string_view name, const std::vector<int64_t>& episode_index,
                  const std::vector<int64_t>& frame_index, const std::string& path, const std::string& hint) {
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    const auto row = static_cast<size_t>(bad - values.begin());
    throw Error(ErrorKind::kData, str_cat(name, " is ", *bad, ", expected a finite number"),
                str_cat(path, ", episode ", episode_index[row], ", frame ", frame_index[row]), hint);
  }
}

}  // namespace

std::optional<Json> made_by(const table::ParquetReader& reader) {
  const std::string text = reader.metadata(kSidecarMetadata);
  if (text.empty()) {
    return std::nullopt;
  }
  const std::string where = str_cat(reader.path(), ", schema metadata \"", kSidecarMetadata, "\"");
  Json json = Json::parse(text, where);
  if (!json.is_object()) {
    throw Error(ErrorKind::kData, str_cat("expected an object, found ", json.dump()), where,
                "the step that wrote the file writes it again");
  }
  return json;
}

std::vector<std::string> sidecar_tags(const std::string& root, std::string_view kind) {
  std::vector<std::string> tags;
  const std::string prefix = str_cat(kind, "_"), plain = sidecar_name(kind, "");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/meta", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == plain) {
      tags.emplace_back();
    } else if (name.starts_with(prefix) && entry.path().extension() == ".parquet") {
      tags.push_back(entry.path().stem().string().substr(prefix.size()));
    }
  }
  std::sort(tags.begin(), tags.end());
  return tags;
}

std::string require_sidecar(const std::string& root, std::string_view kind, std::string_view tag) {
  const std::string path = str_cat(root, "/meta/", sidecar_name(kind, tag));
  if (fs::exists(path)) {
    return path;
  }
  const std::vector<std::string> tags = sidecar_tags(root, kind);
  std::vector<std::string> known;
  for (const std::string& other : tags) {
    known.push_back(shown_tag(other));
  }
  const std::string what = tags.empty() ? str_cat("the dataset has no ", kind)
                                        : str_cat("no ", kind, " with the tag ", shown_tag(tag),
                                                  "; tags there are: ", join_text(known, ", "));
  throw Error(ErrorKind::kFile, what, path, str_cat("flexor recap ", kind, " --config FILE makes them"));
}

std::string tag_problem(std::string_view tag) {
  const bool has_control = std::any_of(tag.begin(), tag.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (has_control) {
    return "a tag is part of a file name, found one with a control character (line end, tab, ...)";
  }
  const bool is_plain = tag.find_first_of("/\\") == std::string_view::npos && tag != "." && tag != "..";
  return is_plain ? "" : str_cat("a tag is part of a file name, found '", tag, "'");
}

FrameRows::FrameRows(const std::vector<int64_t>& episode_index, const std::vector<int64_t>& frame_index,
                     const std::string& path)
    : path_(path) {
  for (size_t row = 0; row < episode_index.size(); ++row) {
    auto& rows = episodes_[episode_index[row]].rows;
    const int64_t frame = frame_index[row];
    constexpr int64_t kMaxFrame = 1LL << 32;
    if (frame < 0 || frame > kMaxFrame) {
      throw Error(ErrorKind::kData, str_cat("frame_index is ", frame), str_cat(path, ", row ", row));
    }
    if (static_cast<size_t>(frame) >= rows.size()) {
      rows.resize(static_cast<size_t>(frame) + 1, -1);
    }
    if (rows[static_cast<size_t>(frame)] >= 0) {
      throw Error(ErrorKind::kData, "the frame stands twice",
                  str_cat(path, ", episode ", episode_index[row], ", frame ", frame));
    }
    rows[static_cast<size_t>(frame)] = static_cast<int64_t>(row);
  }
}

std::optional<int64_t> FrameRows::find(int64_t episode, int64_t frame) const {
  const auto found = episodes_.find(episode);
  if (found == episodes_.end() || frame < 0 || static_cast<size_t>(frame) >= found->second.rows.size()) {
    return std::nullopt;
  }
  const int64_t row = found->second.rows[static_cast<size_t>(frame)];
  return row < 0 ? std::nullopt : std::optional<int64_t>(row);
}

std::vector<int64_t> FrameRows::rows_of(const data::Dataset& dataset, const std::string& hint) const {
  std::vector<int64_t> rows(static_cast<size_t>(dataset.num_frames()));
  int64_t num_missing = 0;
  std::string first_missing;
  for (int64_t position = 0; position < dataset.num_frames(); ++position) {
    const auto id = dataset.frame_id(position);
    const std::optional<int64_t> row = find(id.episode_index, id.frame_index);
    rows[static_cast<size_t>(position)] = row.value_or(-1);
    constexpr int64_t kShown = 5;
    if (!row && num_missing++ < kShown) {
      first_missing += str_cat(first_missing.empty() ? "" : ", ", "(", id.episode_index, ", ", id.frame_index, ")");
    }
  }
  if (num_missing > 0) {
    throw Error(ErrorKind::kData,
                str_cat(num_missing, " of ", dataset.num_frames(),
                        " frames have no row; the first (episode, frame): ", first_missing),
                path_, hint);
  }
  return rows;
}

ReturnRange ReturnsSidecar::range() const {
  const auto [low, high] = std::minmax_element(returns.begin(), returns.end());
  return {*low, *high};
}

bool ReturnsSidecar::has_success() const {
  std::unordered_map<int64_t, size_t> last;  // row of each episode's last frame
  for (size_t row = 0; row < episode_index.size(); ++row) {
    const auto [found, is_new] = last.emplace(episode_index[row], row);
    if (!is_new && frame_index[row] > frame_index[found->second]) {
      found->second = row;
    }
  }
  return std::any_of(last.begin(), last.end(), [this](const auto& item) { return rewards[item.second] == 0.0F; });
}

ReturnsSidecar read_returns(const std::string& root, std::string_view tag) {
  ReturnsSidecar sidecar;
  sidecar.path = require_sidecar(root, "returns", tag);
  const auto reader = table::ParquetReader::open(sidecar.path);
  if (reader.num_rows() == 0) {
    throw Error(ErrorKind::kData, "the file has no rows", sidecar.path, "flexor recap returns --config FILE");
  }
  auto columns = reader.read_numerics({"episode_index", "frame_index", "return", "reward"});
  sidecar.episode_index = values_as<int64_t>(std::move(columns[0]), "episode_index", sidecar.path);
  sidecar.frame_index = values_as<int64_t>(std::move(columns[1]), "frame_index", sidecar.path);
  sidecar.returns = values_as<float>(std::move(columns[2]), "return", sidecar.path);
  sidecar.rewards = values_as<float>(std::move(columns[3]), "reward", sidecar.path);
  sidecar.made_by = made_by(reader);
  const std::string hint = "flexor recap returns --config FILE writes them again";
  check_finite(sidecar.returns, "return", sidecar.episode_index, sidecar.frame_index, sidecar.path, hint);
  check_finite(sidecar.rewards, "reward", sidecar.episode_index, sidecar.frame_index, sidecar.path, hint);
  return sidecar;
}

ReturnRange common_range(const std::vector<const ReturnsSidecar*>& sidecars, std::optional<double> given_min,
                         std::optional<double> given_max) {
  ReturnRange common;
  for (size_t i = 0; i < sidecars.size(); ++i) {
    const ReturnRange range = sidecars[i]->range();
    common.min = i == 0 ? range.min : std::min(common.min, range.min);
    common.max = i == 0 ? range.max : std::max(common.max, range.max);
  }
  return {given_min.value_or(common.min), given_max.value_or(common.max)};
}

std::vector<float> returns_of(const data::Dataset& dataset, const ReturnsSidecar& sidecar) {
  const FrameRows frames(sidecar.episode_index, sidecar.frame_index, sidecar.path);
  std::vector<float> result;
  for (const int64_t row : frames.rows_of(dataset, "the dataset changed: flexor recap returns --config FILE")) {
    result.push_back(sidecar.returns[static_cast<size_t>(row)]);
  }
  return result;
}

AdvantageLabels read_advantage_labels(const std::string& root, std::string_view tag) {
  AdvantageLabels labels;
  labels.path = require_sidecar(root, "advantages", tag);
  const auto reader = table::ParquetReader::open(labels.path);
  auto columns = reader.read_numerics({"episode_index", "frame_index", "advantage"});
  labels.episode_index = values_as<int64_t>(std::move(columns[0]), "episode_index", labels.path);
  labels.frame_index = values_as<int64_t>(std::move(columns[1]), "frame_index", labels.path);
  if (columns[2].width != 1 || !std::holds_alternative<std::vector<uint8_t>>(columns[2].values)) {
    throw Error(ErrorKind::kData, "column advantage: expected true and false", labels.path,
                "flexor recap advantages --config FILE");
  }
  labels.advantage = std::move(std::get<std::vector<uint8_t>>(columns[2].values));
  if (reader.find("advantage_continuous") != nullptr) {
    labels.advantage_continuous =
        values_as<double>(reader.read_numeric("advantage_continuous"), "advantage_continuous", labels.path);
    check_finite(labels.advantage_continuous, "advantage_continuous", labels.episode_index, labels.frame_index,
                 labels.path, "flexor recap advantages --config FILE");
  }
  labels.made_by = made_by(reader);
  return labels;
}

std::vector<uint8_t> labels_of(const data::Dataset& dataset, const AdvantageLabels& labels) {
  const FrameRows frames(labels.episode_index, labels.frame_index, labels.path);
  std::vector<uint8_t> result;
  for (const int64_t row :
       frames.rows_of(dataset, "label all of it: flexor recap advantages --config FILE, without max_samples")) {
    result.push_back(labels.advantage[static_cast<size_t>(row)]);
  }
  return result;
}

}  // namespace flexor::recap
