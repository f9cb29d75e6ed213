#pragma once
#include <optional>
#include <string>

#include "config/field_table.h"
#include "models/policy_model.h"
#include "policy/guidance.h"
#include "schema/batch_file.h"

namespace flexor::cli {

/// --guidance and --guidance-type of the commands that sample.
struct GuidanceOptions {
  std::optional<double> weight;
  std::optional<std::string> type;
};
void fields(config::FieldTable& table, GuidanceOptions& options);

/// The guidance that the flags ask for of a policy: without --guidance-type the positive label, without --guidance the
/// weight that the policy's folder names, else 1. A folder that says nothing of labels gets a warning.
/// Call it before the policy is opened: it only reads flexor_recap.json.
/// @throws Error(kUsage) if they contradict each other or how the policy was trained, Error(kCheckpoint)
policy::Guidance guidance_of(const GuidanceOptions& options, const std::string& policy_folder);

/// The labelled prompts of a batch file: `tokenized_positive_guidance_prompt` [B, L] and
/// `tokenized_positive_guidance_prompt_mask` [B, L], or the same names with `negative`; nothing without guidance.
/// @throws Error(kUsage) naming the tensors that are missing, Error(kData) if they are of another kind
std::optional<models::GuidedPrompt> guided_prompt(const schema::BatchFile& file, const policy::Guidance& guidance);

}  // namespace flexor::cli
