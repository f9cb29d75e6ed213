#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizer.h"
#include "models/value_model.h"
#include "recap/recap_config.h"
#include "recap/training_folder.h"
#include "train/trainer.h"

namespace flexor::recap {

/// Beginnings of the keys that a resumed training of a value model or an ensemble may change.
inline constexpr std::array<std::string_view, 9> kFreeValueKeys = {"runner.",
                                                                   "data.num_workers",
                                                                   "data.train_num_workers",
                                                                   "data.eval_num_workers",
                                                                   "data.prefetch_factor",
                                                                   "actor.fsdp_config.",
                                                                   "actor.model.model_path",
                                                                   "actor.model.siglip_path",
                                                                   "actor.model.gemma3_path"};

/// The model that a section describes: sizes of `architecture`, else those of siglip_path, gemma3_path and the expert's
/// variant. @throws Error(kFile), Error(kCheckpoint), Error(kConfig)
models::ValueConfig value_config(const ValueModelSection& section);

/// @throws Error(kConfig) if nothing says where the weights are from
void require_weights(const ValueModelSection& section);

/// The model that training starts from: weights of model_path, else of siglip_path and gemma3_path with a fresh expert
/// and head; without paths (but with `architecture`) all of it is random. What is trained is set.
/// @throws Error(kFile), Error(kCheckpoint), Error(kConfig) if nothing says where the weights are from
std::unique_ptr<models::ValueModel> build_value_model(const ValueStep& step);

/// Once model and optimizer are made: counters and moments of a checkpoint, "" for none.
/// @return the best validation so far  @throws Error(kFile), Error(kCheckpoint)
BestValue start_value_state(train::TrainerParts& parts, const std::string& checkpoint);

/// tokenizer_path, else the one beside model_path or gemma3_path. @throws Error(kFile)
data::Tokenizer value_tokenizer(const ValueModelSection& section);

}  // namespace flexor::recap
