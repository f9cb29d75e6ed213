#include "judge.h"

#include <ATen/Parallel.h>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "policy/guidance.h"
#include "policy/policy.h"
#include "result.h"
#include "rollout.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::place_block {
namespace {

/// Start noise of some episodes' next chunks, [B, T, max_action_dim].
Tensor start_noise(const policy::Policy& policy, uint64_t seed, const std::vector<int64_t>& episodes, int64_t look) {
  constexpr uint64_t kNoise = 2;
  std::vector<Tensor> noise;
  for (const int64_t episode : episodes) {
    at::Generator generator =
        make_generator(stream_seed(seed, kNoise, static_cast<uint64_t>(episode), static_cast<uint64_t>(look)));
    noise.push_back(policy.draw_noise(1, generator));
  }
  return at::cat(noise);
}

policy::Guidance guidance_of(const JudgeOptions& options) {
  return options.guidance ? policy::Guidance{policy::guidance_type(options.guidance_type), *options.guidance}
                          : policy::Guidance{};
}

void check(const JudgeOptions& options, const policy::Policy& policy) {
  if (options.execute > policy.config().chunk_size) {
    throw Error(
        ErrorKind::kUsage,
        str_cat("--execute ", options.execute, ": the policy's chunks have ", policy.config().chunk_size, " actions"),
        options.policy, "fewer");
  }
}

Json settings_json(const JudgeOptions& options, const models::SampleOptions& sampling) {
  return Json::object({{"policy", options.policy},
                       {"episodes", options.episodes},
                       {"seed", options.seed},
                       {"execute", options.execute},
                       {"num_steps", sampling.num_steps},
                       {"guidance", options.guidance ? Json(*options.guidance) : Json()},
                       {"guidance_type", options.guidance ? Json(options.guidance_type) : Json()}});
}

}  // namespace

void fields(config::FieldTable& table, JudgeOptions& o) {
  table("policy", o.policy, "policy folder, `pretrained_model`").required().value_name("DIR");
  table("name", o.name, "row of the table; default: the policy's folder");
  table("episodes", o.episodes, "episodes, each with a start of its own").range(1, 1e6);
  table("seed", o.seed, "of the starts and of the noise").range(0, 1e15);
  table("guidance", o.guidance, "weight of the labelled prompt; default: the plain prompt alone").value_name("W");
  table("guidance_type", o.guidance_type, "label of that prompt").choices({"positive", "negative"});
  table("num_steps", o.num_steps, "Euler steps; default: num_inference_steps of the policy").range(1, 1000);
  table("execute", o.execute, "actions of a chunk that are carried out before the next look").range(1, 1000);
  table("batch_size", o.batch_size, "episodes at once").range(1, 65536);
  table("threads", o.threads, "0: LibTorch's choice").range(0, 1024);
  table("output", o.output, "also write the JSON to this file").short_flag('o').value_name("FILE");
}

void judge(const JudgeOptions& options, std::ostream& out) {
  const policy::Guidance guidance = guidance_of(options);
  policy::check_guidance(guidance, std::nullopt, "--guidance");
  if (!options.output.empty()) {
    check_output_file(options.output);
  }
  if (options.threads > 0) {
    at::set_num_threads(static_cast<int>(options.threads));
  }
  policy::Policy policy = policy::Policy::open(options.policy);
  check(options, policy);
  models::SampleOptions sampling = policy.default_sampling();
  sampling.num_steps = options.num_steps.value_or(sampling.num_steps);
  const auto seed = static_cast<uint64_t>(options.seed);
  const Act act = [&](const data::RawBatch& observations, const std::vector<int64_t>& episodes, int64_t look) {
    return policy.predict(observations, start_noise(policy, seed, episodes, look), sampling, guidance).actions.cpu();
  };
  const std::vector<Verdict> verdicts = roll_out(
      {.episodes = options.episodes, .seed = seed, .execute = options.execute, .batch_size = options.batch_size}, act);
  const Json result =
      result_json(options.name.empty() ? options.policy : options.name, settings_json(options, sampling), verdicts);
  if (!options.output.empty()) {
    write_file_atomic(options.output, result.dump(2) + "\n");
  }
  out << result.dump() << '\n';
}

}  // namespace flexor::place_block
