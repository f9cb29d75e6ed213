#include "cli/guidance_options.h"

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::cli {
namespace {

constexpr double kLargestWeight = 1e3;

[[noreturn]] void refuse(const schema::BatchFile& file, const std::string& name, const std::string& expected,
                         const Tensor& found) {
  throw Error(
      ErrorKind::kData,
      str_cat("expected ", expected, ", found ", dtype_name(found.scalar_type()), " ", shape_text(found.sizes())),
      str_cat(file.path, ", tensor ", name), "a batch file holds it like that, one row a sample of the batch");
}

Tensor whole_numbers(const schema::BatchFile& file, const std::string& name) {
  const Tensor& tensor = file.at(name);
  if (tensor.is_floating_point() || tensor.dim() != 2 || tensor.size(0) != file.batch.size()) {
    refuse(file, name, str_cat("whole numbers [", file.batch.size(), ", L]"), tensor);
  }
  return tensor;
}

}  // namespace

void fields(config::FieldTable& table, GuidanceOptions& o) {
  table("guidance", o.weight,
        "weight of the labelled prompt: 0 = the plain one alone, 1 = the labelled one alone, above 1 goes further")
      .range(-kLargestWeight, kLargestWeight)
      .value_name("W");
  table("guidance_type", o.type, "label that is asked for; default with --guidance: positive")
      .choices({"positive", "negative", "no_guide"});
}

policy::Guidance guidance_of(const GuidanceOptions& options, const std::string& policy_folder) {
  const std::optional<policy::LabelTraining> training = policy::read_label_training(policy_folder);
  policy::Guidance guidance;
  if (!options.weight && !options.type) {
    if (training) {
      log_info("this policy was trained with labels; without --guidance its plain prompt is used",
               {{"guidance_scale", training->guidance.weight},
                {"guidance_type", policy::guidance_name(training->guidance.type)}});
    }
    return guidance;
  }
  guidance.type = policy::guidance_type(options.type.value_or("positive"));
  guidance.weight = options.weight.value_or(training ? training->guidance.weight : 1.0);
  policy::check_guidance(guidance, training, policy_folder);
  if (!training && !guidance.is_off()) {
    log_warn("nothing says that this policy was trained with labels: no flexor_recap.json",
             {{"policy", policy_folder}});
  }
  return guidance;
}

std::optional<models::GuidedPrompt> guided_prompt(const schema::BatchFile& file, const policy::Guidance& guidance) {
  if (guidance.is_off()) {
    return std::nullopt;
  }
  const std::string tokens = str_cat("tokenized_", policy::guidance_name(guidance.type), "_guidance_prompt");
  std::vector<std::string> missing;
  for (const std::string& name : {tokens, tokens + "_mask"}) {
    if (!file.has(name)) {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::kUsage,
                str_cat("--guidance needs the labelled prompts, but the batch has no ", join_text(missing, " and no ")),
                file.path, "put them into the file, or leave --guidance out");
  }
  const Tensor ids = whole_numbers(file, tokens), mask = whole_numbers(file, tokens + "_mask");
  return models::GuidedPrompt{ids.to(at::kLong), mask.to(at::kBool), guidance.weight};
}

}  // namespace flexor::cli
