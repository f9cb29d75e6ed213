#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "data/prompt.h"

namespace flexor::policy {

/// Which label is asked for when sampling from a policy that was trained with advantage labels (RECAP, step 4).
enum class GuidanceType { kNoGuide, kPositive, kNegative };

/// "no_guide", "positive", "negative".
std::string_view guidance_name(GuidanceType type);
/// @throws Error(kUsage) for another name
GuidanceType guidance_type(std::string_view name);

/// Classifier-free guidance: the velocity is (1 - weight) v_plain + weight v_labelled. A weight of 0, or kNoGuide, is
/// the plain prompt alone, 1 the labelled one alone; above 1 goes further in that direction.
struct Guidance {
  GuidanceType type = GuidanceType::kNoGuide;
  double weight = 1.0;  ///< finite

  bool is_off() const { return type == GuidanceType::kNoGuide || weight == 0; }  ///< only the plain prompt counts
  data::AdvantageLabel label() const;
};

/// {"type": "positive", "weight": 1.5}, null for kNoGuide.
Json to_json(const Guidance& guidance);

/// What the folder of a policy says of its training with labels, in `flexor_recap.json`.
struct LabelTraining {
  bool positive_only_conditional = true;  ///< negative samples were never trained with their label
  Guidance guidance;                      ///< what the run's configuration asks for when sampling
};

/// Nothing if the folder has no flexor_recap.json: it cannot be known then what the policy was trained with.
/// @throws Error(kCheckpoint) if the file is damaged
std::optional<LabelTraining> read_label_training(const std::string& folder);

/// @throws Error(kUsage) if the weight is not finite, or if negative guidance is asked of a policy that has not seen
///         negative labels
void check_guidance(const Guidance& guidance, const std::optional<LabelTraining>& training, const std::string& where);

}  // namespace flexor::policy
