#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/mixture.h"
#include "dist/group.h"
#include "recap/batch_order.h"
#include "recap/recap_config.h"
#include "schema/policy_config.h"

namespace flexor::recap {

/// One dataset of the policy, with the label of every frame.
struct PolicyDataset {
  std::string name, root, default_prompt;
  data::Dataset dataset;    ///< the episodes that take part
  int64_t num_samples = 0;  ///< the first frames, at most max_samples
  double weight = 1.0;
  std::vector<uint8_t> labels;  ///< by position, 1: positive

  const std::string& prompt_or_default(const std::string& task) const { return task.empty() ? default_prompt : task; }
};

/// What the policy learns from and is judged on.
struct PolicyData {
  std::vector<PolicyDataset> train, val;
  std::shared_ptr<const data::Mixture> mixture;   ///< of `train`
  std::map<std::string, std::string> rename_map;  ///< of the first training dataset

  struct Sample {
    bool is_positive;
    const PolicyDataset* dataset;
  };
  /// The dataset and label of a global position of the mixture.
  Sample at(int64_t position) const;
  /// SHA-256 of all labels of the training frames, as hexadecimal digits.
  std::string labels_hash() const;
};

/// Opens and checks datasets and labels (meta/advantages[_TAG].parquet).
/// @param with_labels  false: labels may not be there yet and are all 0; all else is checked
/// @param policy  whose cameras the datasets' become, by their slots, unless they have those names already; one without
///                cameras takes them as they are
/// @throws Error(kFile), Error(kData), Error(kConfig)
PolicyData open_policy_data(const PolicyStep& step, const schema::PolicyConfig& policy, bool with_labels = true);

/// New names of a dataset's features: `given` ones; `actions` and `state` become `action` and `observation.state`; the
/// cameras of a robot type become those of the policy that end in the name of their slot, if the policy has cameras and
/// none of the dataset's is one of them. @param where  for errors
std::map<std::string, std::string> policy_renames(const std::vector<data::FeatureInfo>& features,
                                                  const schema::PolicyConfig& policy, const std::string& robot_type,
                                                  const std::map<std::string, std::string>& given,
                                                  const std::string& where);

/// The order of training samples: always a mixture. @param group  the ranks that share it
std::shared_ptr<const RecapOrder> policy_order(const PolicyStep& step, const PolicyData& data,
                                               const dist::Group& group);

}  // namespace flexor::recap
