#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/dataset.h"
#include "recap/returns.h"

namespace flexor::table {
class ParquetReader;
}

namespace flexor::recap {

/// What a sidecar says about its making, in the Parquet metadata under this key: JSON with tag, type, gamma,
/// failure_reward, episodes, successes, return {mean, std, min, max}, ... Sidecars of the reference have none.
inline constexpr std::string_view kSidecarMetadata = "flexor.recap";
/// What the step that wrote a sidecar noted there; nothing in files of RLinf. @throws Error(kData) if it is no object
std::optional<Json> made_by(const table::ParquetReader& reader);

/// ROOT/meta/returns_TAG.parquet. @throws Error(kFile) that lists the tags there are, with the command that makes it
std::string require_sidecar(const std::string& root, std::string_view kind, std::string_view tag);
/// Tags of the sidecars of a kind ("returns", "advantages") in ROOT/meta, sorted; "" for the one without tag.
std::vector<std::string> sidecar_tags(const std::string& root, std::string_view kind);

/// Why a tag cannot be part of a file's name: a slash, a control character, "." or ".."; "" if it can.
std::string tag_problem(std::string_view tag);

/// Finds the row of a frame.
class FrameRows {
 public:
  FrameRows() = default;
  /// @throws Error(kData) if a frame stands twice
  FrameRows(const std::vector<int64_t>& episode_index, const std::vector<int64_t>& frame_index,
            const std::string& path);
  std::optional<int64_t> find(int64_t episode, int64_t frame) const;

  /// The row of every frame of a dataset, by position.
  /// @throws Error(kData) with the number of frames without row and the first five of them
  std::vector<int64_t> rows_of(const data::Dataset& dataset, const std::string& hint) const;

 private:
  std::string path_;
  struct Rows {
    std::vector<int64_t> rows;  ///< by frame_index, -1: none
  };
  std::unordered_map<int64_t, Rows> episodes_;
};

/// meta/returns[_TAG].parquet
struct ReturnsSidecar {
  std::string path;
  std::vector<int64_t> episode_index, frame_index;
  std::vector<float> returns, rewards;
  std::optional<Json> made_by;  ///< metadata of kSidecarMetadata

  /// Smallest and largest return.
  ReturnRange range() const;
  /// An episode whose last reward is 0.
  bool has_success() const;
};
/// @throws Error(kFile), Error(kData): missing columns, a return or reward that is not finite
ReturnsSidecar read_returns(const std::string& root, std::string_view tag);

/// The range that normalises: given ones, else over the sidecars.
ReturnRange common_range(const std::vector<const ReturnsSidecar*>& sidecars, std::optional<double> given_min,
                         std::optional<double> given_max);

/// Returns of every frame of `dataset`, by position: what the value model learns.
/// @throws Error(kFile), Error(kData) if the sidecar does not cover the dataset
std::vector<float> returns_of(const data::Dataset& dataset, const ReturnsSidecar& sidecar);

/// Label and score of every frame, from meta/advantages[_TAG].parquet.
struct AdvantageLabels {
  std::string path;
  std::vector<int64_t> episode_index, frame_index;
  std::vector<uint8_t> advantage;            ///< 0, 1
  std::vector<double> advantage_continuous;  ///< empty if the sidecar has none
  std::optional<Json> made_by;
};
/// @throws Error(kFile), Error(kData)
AdvantageLabels read_advantage_labels(const std::string& root, std::string_view tag);
/// The label of every frame of `dataset`, by position: what the policy is conditioned on.
/// @throws Error(kData) if the sidecar does not cover the dataset: count, first five missing frames
std::vector<uint8_t> labels_of(const data::Dataset& dataset, const AdvantageLabels& labels);

}  // namespace flexor::recap
