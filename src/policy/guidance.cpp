#include "policy/guidance.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"

namespace flexor::policy {
namespace {

constexpr std::array<std::pair<std::string_view, GuidanceType>, 3> kNames = {{{"no_guide", GuidanceType::kNoGuide},
                                                                              {"positive", GuidanceType::kPositive},
                                                                              {"negative", GuidanceType::kNegative}}};

LabelTraining parse(const Json& json) {
  LabelTraining training;
  training.positive_only_conditional = json.at("positive_only_conditional").as_bool();
  if (const Json* weight = json.find("guidance_scale")) {
    training.guidance.weight = weight->as_double();
  }
  if (const Json* type = json.find("guidance_type")) {
    training.guidance.type = guidance_type(type->as_string());
  }
  return training;
}

}  // namespace

std::string_view guidance_name(GuidanceType type) {
  for (const auto& [name, value] : kNames) {
    if (value == type) {
      return name;
    }
  }
  return {};
}

GuidanceType guidance_type(std::string_view name) {
  for (const auto& [known, value] : kNames) {
    if (known == name) {
      return value;
    }
  }
  throw Error(ErrorKind::kUsage, str_cat("unknown guidance type '", name, "'"), "guidance",
              "positive, negative or no_guide");
}

data::AdvantageLabel Guidance::label() const {
  switch (type) {
    case GuidanceType::kPositive:
      return data::AdvantageLabel::kPositive;
    case GuidanceType::kNegative:
      return data::AdvantageLabel::kNegative;
    case GuidanceType::kNoGuide:
      break;
  }
  return data::AdvantageLabel::kNone;
}

Json to_json(const Guidance& guidance) {
  if (guidance.type == GuidanceType::kNoGuide) {
    return {};
  }
  return Json::object({{"type", guidance_name(guidance.type)}, {"weight", guidance.weight}});
}

std::optional<LabelTraining> read_label_training(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "flexor_recap.json").string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  const Json json = Json::read_file(path);
  try {
    return parse(json);
  } catch (const Error& error) {
    throw Error(ErrorKind::kCheckpoint, error.what(), path,
                "copy the policy's folder again; the file says how the labels were trained");
  }
}

void check_guidance(const Guidance& guidance, const std::optional<LabelTraining>& training, const std::string& where) {
  if (!std::isfinite(guidance.weight)) {
    throw Error(ErrorKind::kUsage, str_cat("the weight of the guidance is ", guidance.weight, ", expected a number"),
                where, "0: the plain prompt, 1: the labelled one, above 1: further in that direction");
  }
  if (guidance.type == GuidanceType::kNegative && training && training->positive_only_conditional) {
    throw Error(ErrorKind::kUsage,
                "negative guidance, but the policy was trained with positive_only_conditional: it has never seen a "
                "negative label",
                where, "--guidance-type positive, or train with positive_only_conditional=false");
  }
}

}  // namespace flexor::policy
