#include <ATen/ops/isfinite.h>
#include <ostream>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "cli/commands.h"
#include "cli/guidance_options.h"
#include "cli/policy_folder.h"
#include "cli/print_json.h"
#include "cli/start_noise.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "dist/choose_device.h"
#include "policy/policy.h"
#include "schema/batch_file.h"
#include "tensor/safetensors.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::cli {
namespace {

struct PredictOptions {
  std::string policy, batch, output, norm_stats, device = "auto";
  std::optional<std::string> dtype;
  std::optional<int64_t> num_steps;
  GuidanceOptions guidance;
  int64_t seed = 0, threads = 0;
  bool json = false;
};

void fields(config::FieldTable& table, PredictOptions& o) {
  table("policy", o.policy, "policy folder (pretrained_model)").required().value_name("DIR");
  table("batch", o.batch, "safetensors file of model-side tensors").required().value_name("FILE");
  table("output", o.output, "safetensors file to write").required().short_flag('o').value_name("FILE");
  table("num_steps", o.num_steps, "Euler steps; default: num_inference_steps of the policy").range(1, 1000);
  fields(table, o.guidance);
  table("dtype", o.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  table("norm_stats", o.norm_stats, "openpi's norm_stats.json; default: the policy's statistics").value_name("FILE");
  table("seed", o.seed, "of the noise when the batch has neither sample_noise nor noise");
  dist::add_device_flag(table, o.device);
  table("threads", o.threads, "0: LibTorch's choice").range(0, 1024);
  table("json", o.json, "print one JSON object instead of text");
}

int run_predict(const Args& args, const Io& io) {
  const auto options = config::parse<PredictOptions>(args);
  set_threads(options.threads);
  check_output_file(options.output);
  const schema::BatchFile batch = schema::read_batch_file(options.batch);
  const std::string folder = policy_folder(options.policy);
  const policy::Guidance guidance = guidance_of(options.guidance, folder);
  std::optional<models::GuidedPrompt> guided = guided_prompt(batch, guidance);
  policy::PolicyOptions policy_options;
  policy_options.dtype = options.dtype;
  policy_options.norm_stats = options.norm_stats;
  policy_options.device = dist::choose_device(options.device);
  policy::Policy policy = policy::Policy::open(folder, policy_options);
  models::SampleOptions sampling = policy.default_sampling();
  sampling.num_steps = options.num_steps.value_or(sampling.num_steps);
  sampling.guided = std::move(guided);
  const at::NoGradGuard no_gradients;
  const policy::ActionChunk chunk =
      policy.predict(batch.batch, start_noise(batch, policy.config(), options.seed), sampling);
  if (!at::isfinite(chunk.actions).all().item<bool>()) {
    throw Error(ErrorKind::kRuntime, "the policy's actions are not finite", options.policy, "are its weights intact?");
  }
  const std::vector<NamedTensor> tensors = {{"actions_normalized", chunk.normalized}, {"actions", chunk.actions}};
  write_safetensors(options.output, tensors);
  if (options.json) {
    print_json(io.out, Json::object({{"output", options.output},
                                     {"actions", Json(chunk.actions.sizes().vec())},
                                     {"num_steps", sampling.num_steps},
                                     {"guidance", policy::to_json(guidance)}}));
  } else {
    io.out << "actions " << shape_text(chunk.actions.sizes()) << " in " << options.output << '\n';
  }
  return 0;
}

}  // namespace

const Command kPredict{
    .path = "predict",
    .summary = "Sample action chunks for a file of prepared inputs.",
    .notes =
        "The batch holds normalised, tokenised tensors and raw pictures under LeRobot's names; sampling starts from "
        "its `sample_noise`,\nelse from its `noise`, else from noise drawn with --seed. Writes `actions_normalized` "
        "[B, T, max_action_dim] and `actions`\n[B, T, A] in physical units.\n\nGuidance needs the prompts with their "
        "label in the batch: `tokenized_positive_guidance_prompt` [B, L] "
        "and\n`tokenized_positive_guidance_prompt_mask` "
        "[B, L], or the same names with `negative`.\n",
    .usage = &config::usage<PredictOptions>,
    .run = &run_predict,
    .for_rank_zero = true};

}  // namespace flexor::cli
