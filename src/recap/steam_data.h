#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/mixture.h"
#include "data/sampler.h"
#include "recap/batch_order.h"
#include "recap/camera_slots.h"
#include "recap/recap_config.h"
#include "recap/steam.h"

namespace flexor::recap {

/// The pairs of frames of one dataset. Anchors are frames t = 0..T-2 of every episode, each used twice: forward and
/// reversed; so a dataset has 2 * sum(T - 1) items.
struct SteamDataset {
  std::string name, root;
  data::Dataset dataset;
  CameraSlots slots;
  double weight = 1.0;
  std::optional<int64_t> max_samples;  ///< pairs to validate on
  std::vector<int64_t> first_anchor;   ///< of every episode, and the total at the end
  int64_t num_items() const { return 2 * first_anchor.back(); }
};

/// What the ensemble learns from.
struct SteamData {
  std::vector<SteamDataset> train, eval;
  std::shared_ptr<const data::Mixture> mixture;  ///< of `train`
  double reference_length = 0;                   ///< L_ref of length scaling: a percentile of the episodes' lengths
};
/// @throws Error(kFile), Error(kData), Error(kConfig)
SteamData open_steam_data(const ValueStep& step);

/// Two frames and the class of the way from the first to the second.
struct SteamPair {
  int64_t first, second;  ///< positions inside the dataset
  int64_t label;
};
/// Item of a dataset. num_bins 2: stride K cut at the episode's end, label 1 forward, 0 reversed; else a stride of
/// 1..min(K, T-1-t), `draw` modulo that many, and its bin.
/// @param draw  a random number of 64 bits
SteamPair steam_pair(const SteamDataset& dataset, int64_t item, uint64_t draw, const SteamSection& section,
                     double reference_length);

/// Batches of pairs: positions hold the first frames of all pairs, then the second ones.
class SteamOrder final : public data::BatchOrder {
 public:
  /// @param items  which items a batch has, numbered over all training datasets; strides are drawn for every place of
  ///               every step anew
  SteamOrder(std::shared_ptr<const SteamData> data, const SteamSection& section, uint64_t seed,
             std::shared_ptr<const RecapOrder> items);
  /// The same with strides that belong to the items, whatever their order.
  static SteamOrder with_fixed_strides(std::shared_ptr<const SteamData> data, const SteamSection& section,
                                       uint64_t seed, std::shared_ptr<const data::BatchOrder> items);
  Batch batch(int64_t step) const override;
  int64_t num_frames() const override { return items_->num_frames(); }
  data::SamplerState state(int64_t step) const override { return items_->state(step); }
  std::vector<int64_t> labels(int64_t step) const;

 private:
  SteamOrder(std::shared_ptr<const SteamData> data, const SteamSection& section, uint64_t seed,
             std::shared_ptr<const data::BatchOrder> items, std::shared_ptr<const RecapOrder> drawn);
  struct Placed {
    SteamPair pair;
    int64_t offset;  ///< of the dataset's positions in the mixture
  };
  std::vector<Placed> pairs(int64_t step) const;

  std::shared_ptr<const SteamData> data_;
  SteamSection section_;
  uint64_t seed_;
  std::shared_ptr<const data::BatchOrder> items_;
  std::shared_ptr<const RecapOrder> drawn_;  ///< null: fixed strides
  std::vector<int64_t> first_item_;
};

}  // namespace flexor::recap
