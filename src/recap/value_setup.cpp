#include "recap/value_setup.h"

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "config/finding.h"
#include "device/device.h"
#include "models/value_weights.h"
#include "nn/named_params.h"
#include "recap/value_checkpoint.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kInitStream = 1;

void refuse_other_bins(const models::ValueConfig& stored, const models::ValueConfig& wanted, const std::string& where) {
  if (stored.num_bins != wanted.num_bins || stored.v_min != wanted.v_min || stored.v_max != wanted.v_max) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("the checkpoint has ", stored.num_bins, " bins from ", stored.v_min, " to ", stored.v_max,
                        ", the configuration wants ", wanted.num_bins, " from ", wanted.v_min, " to ", wanted.v_max),
                where, "actor.model.num_bins, v_min and v_max");
  }
}

}  // namespace

models::ValueConfig value_config(const ValueModelSection& section) {
  models::ValueConfig config;
  if (section.architecture) {
    config.architecture = *section.architecture;
  } else {
    config.architecture.expert = models::critic_expert_variant(section.critic_expert_variant);
  }
  if (!section.siglip_path.empty()) {
    models::read_siglip_size(section.siglip_path, config.architecture);
  }
  if (!section.gemma3_path.empty()) {
    models::read_gemma3_size(section.gemma3_path, config.architecture);
  }
  config.num_bins = section.num_bins;
  config.v_min = section.v_min;
  config.v_max = section.v_max;
  config.value_dropout = section.value_dropout;
  config.max_token_len = section.max_token_len;
  config.scale_cls_embedding = section.scale_cls_embedding;
  if (const auto findings = models::check(config, "actor.model."); !findings.empty()) {
    throw config::to_error(findings);
  }
  return config;
}

void require_weights(const ValueModelSection& section) {
  const bool is_complete = !section.siglip_path.empty() && !section.gemma3_path.empty();
  if (section.model_path.empty() && !is_complete && !section.architecture) {
    throw Error(ErrorKind::kConfig, "nothing says where the value model's weights are from", "value.actor.model",
                "siglip_path and gemma3_path, or model_path; a small model from scratch needs architecture");
  }
}

std::unique_ptr<models::ValueModel> build_value_model(const ValueStep& step) {
  const ValueModelSection& section = step.actor.model;
  models::ValueConfig config = value_config(section);
  const models::ValueOptions options{.autocast = section.precision == "bf16",
                                     .gradient_checkpointing = step.actor.fsdp_config.gradient_checkpointing,
                                     .stop_gradient_to_vlm = section.stop_gradient_to_vlm};
  std::unique_ptr<models::ValueModel> model;
  if (!section.model_path.empty()) {
    if (const auto stored = models::find_value_config(section.model_path)) {
      refuse_other_bins(*stored, config, section.model_path);
      config.architecture = stored->architecture;
      config.scale_cls_embedding = stored->scale_cls_embedding;
    }
    model = std::make_unique<models::ValueModel>(config, options);
    models::load_value_weights(*model, section.model_path);
  } else {
    require_weights(section);
    model = std::make_unique<models::ValueModel>(config, options);
    at::Generator generator = make_generator(stream_seed(static_cast<uint64_t>(step.actor.seed), kInitStream));
    models::init_value_weights(*model, generator);
    if (!section.siglip_path.empty()) {
      models::load_siglip(model->net().vision, section.siglip_path);
    }
    if (!section.gemma3_path.empty()) {
      models::load_gemma3(model->net().gemma3, section.gemma3_path);
    }
  }
  models::set_trainable(*model, section.freeze_vision_encoder, section.freeze_vlm);
  nn::move_params(*model, device::current());
  return model;
}

BestValue start_value_state(train::TrainerParts& parts, const std::string& checkpoint) {
  BestValue best;
  if (!checkpoint.empty()) {
    parts.progress = load_value_state(checkpoint, *parts.optimizer, best);
    log_info("resumed", {{"checkpoint", checkpoint}, {"step", parts.progress.step}});
  }
  parts.parallel->weights_loaded();
  return best;
}

data::Tokenizer value_tokenizer(const ValueModelSection& section) {
  for (const std::string& path : {section.tokenizer_path, section.model_path, section.gemma3_path}) {
    if (!path.empty() && (path == section.tokenizer_path || !data::find_tokenizer(path).empty())) {
      return data::Tokenizer::open(path);
    }
  }
  throw Error(ErrorKind::kFile, "no tokenizer for the value model", "value.actor.model.tokenizer_path",
              "tokenizer_path=FILE_OR_FOLDER; Gemma3's tokenizer.model or tokenizer.json, which the Hub gives to who "
              "accepts its licence");
}

}  // namespace flexor::recap
