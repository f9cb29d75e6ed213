#pragma once
#include <memory>
#include <optional>
#include <string>

#include "data/mixture.h"
#include "data/processor.h"
#include "data/tokenizer.h"
#include "schema/norm_stats.h"
#include "schema/policy_config.h"
#include "train/train_config.h"

namespace flexor::train {

/// The datasets of a run, checked, and split into what is trained on and what is held out.
struct TrainingData {
  std::shared_ptr<const data::Mixture> all;  ///< every selected episode, for statistics and prompts
  std::shared_ptr<const data::Mixture> train;
  std::shared_ptr<const data::Mixture> held_out;  ///< null without dataset.eval_split
};

/// Opens and checks dataset.root or dataset.mix; warnings are logged.
/// @throws Error(kFile), Error(kData) for what a run cannot use
TrainingData open_training_data(const TrainConfig& config);

/// The policy's features for these data: state and action (and, from scratch, the cameras) are the dataset's. With
/// policy.fit_to_data also max_state_dim and max_action_dim. @throws Error(kData), Error(kConfig) if they do not fit
schema::PolicyConfig policy_for_data(const TrainConfig& config, const data::Mixture& data);

/// @throws Error(kData) if a dataset has none of the policy's cameras
void check_cameras(const schema::PolicyConfig& policy, const data::Mixture& data);

/// Statistics for fine-tuning or training from scratch: policy.norm_stats, else those that the datasets store; what the
/// policy's normalisation needs and they lack for state and action is computed from all frames, with a log line.
struct TrainingStats {
  schema::NormStats stats;
  bool computed = false;  ///< anything was; belongs into the run's folder as stats.json
};
TrainingStats training_stats(const TrainConfig& config, const schema::PolicyConfig& policy, const data::Mixture& data);

/// The tokenizer of a run: its own copy in `checkpoint`, if that is given, else policy.tokenizer_path, else the one in
/// `folder` or beside policy.path. @throws Error(kFile) if there is none, Error(kData) if it is damaged
data::Tokenizer open_training_tokenizer(const TrainConfig& config, const std::string& checkpoint = {},
                                        const std::string& folder = {});

}  // namespace flexor::train
