#pragma once
#include <cstdint>
#include <memory>

#include "data/batch_reader.h"
#include "data/raw_batch.h"
#include "dist/shared_work.h"
#include "recap/advantages_step.h"
#include "recap/camera_slots.h"
#include "recap/recap_config.h"
#include "recap/steam.h"

namespace flexor::recap {

/// What says how far a second frame is from a first one. Called from one thread.
class PairJudge {
 public:
  virtual ~PairJudge() = default;
  virtual StrideBins bins() const = 0;
  virtual int64_t num_members() const = 0;
  virtual data::BatchFormat format(const CameraSlots& slots) = 0;
  /// @param batch  2 B frames, the first ones in front
  virtual SteamScores scores(const data::RawBatch& batch, const CameraSlots& slots) = 0;
  /// Scores of an interrupted run are taken over only if this is equal.
  virtual Json identity() const = 0;
};

/// STEAM's labels: the score of frame t is the smallest member's for the pair (t, min(t + K, T-1)); the last frame of
/// an episode scores 0. A run that was interrupted goes on where it stopped. Writes META/advantages[_TAG].parquet with
/// STEAM's columns and tags.TAG of META/mixture_config.yaml. No returns are needed.
/// @param group  of meet_ranks(): the ranks that share the pairs; the main one writes
/// @throws Error(kConfig) for label_mode quantile without rollout frames and expert_quantile; Error(kData)
AdvantagesResult label_with_steam(const RecapConfig& config, PairJudge& judge,
                                  const std::shared_ptr<dist::Group>& group = dist::group_of_one());

/// The same with the ensemble of the configuration: advantage.value_checkpoint, else the best of output_dir/value.
AdvantagesResult run_steam_labels(const RecapConfig& config,
                                  const std::shared_ptr<dist::Group>& group = dist::group_of_one());

}  // namespace flexor::recap
