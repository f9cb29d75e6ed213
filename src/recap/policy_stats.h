#pragma once
#include <string>

#include "data/mixture.h"
#include "data/prompt.h"
#include "recap/recap_config.h"
#include "schema/norm_stats.h"
#include "schema/policy_config.h"
#include "train/train_config.h"

namespace flexor::recap {

/// Statistics that normalise state and action, and where they are from.
struct PolicyStats {
  schema::NormStats stats;
  std::string source;  ///< a file, a policy folder, or "datasets"
};

/// The statistics of a new run: norm_stats of the section; else the one norm_stats.json below model_path; else those of
/// model_path's processors, where they fit the data; else those of the datasets, as `flexor train` takes them.
/// @param run  its policy.norm_stats is set to the file that was found
/// @throws Error(kFile), Error(kData); Error(kCheckpoint) if there are several norm_stats.json below model_path
PolicyStats policy_stats(const PolicyModelSection& section, train::TrainConfig& run, const schema::PolicyConfig& policy,
                         const data::Mixture& mixture);

/// Refuses statistics that would blow values up: a range (or deviation) of 0 in a dimension that the policy sees. A
/// dimension whose smallest and largest value are known to be equal is only warned of.
/// @throws Error(kData) naming feature and dimension
void check_ranges(const PolicyStats& stats, const schema::PolicyConfig& policy, data::PromptStyle prompt);

/// SHA-256 of the statistics of state and action as a checkpoint holds them (float32), as hexadecimal digits.
std::string stats_hash(const schema::NormStats& stats);

}  // namespace flexor::recap
