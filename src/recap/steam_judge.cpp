#include <utility>

#include "data/tokenizer.h"
#include "device/device.h"
#include "dist/choose_device.h"
#include "dist/same_weights.h"
#include "models/steam_model.h"
#include "nn/named_params.h"
#include "recap/ranks.h"
#include "recap/steam_labels.h"
#include "recap/steam_task.h"
#include "recap/value_checkpoint.h"
#include "recap/value_setup.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

class SteamJudge final : public PairJudge {
 public:
  SteamJudge(std::unique_ptr<models::SteamEnsemble> ensemble, data::Tokenizer tokenizer, std::string default_prompt,
             Json identity)
      : ensemble_(std::move(ensemble)),
        tokenizer_(std::move(tokenizer)),
        default_prompt_(std::move(default_prompt)),
        identity_(std::move(identity)) {}

  StrideBins bins() const override { return {ensemble_->config().k, ensemble_->config().num_bins}; }
  int64_t num_members() const override { return static_cast<int64_t>(ensemble_->members().size()); }
  data::BatchFormat format(const CameraSlots& slots) override {
    const int64_t side = ensemble_->config().architecture.image_size;
    data::BatchFormat format{.height = side, .width = side, .action_horizon = 0};
    for (const auto& [slot, camera] : slots) {
      format.cameras.push_back(camera);
    }
    return format;
  }
  SteamScores scores(const data::RawBatch& batch, const CameraSlots& slots) override {
    const at::NoGradGuard no_graph;
    const models::SteamBatch pairs =
        steam_batch(batch, slots, tokenizer_, ensemble_->config().max_token_len, default_prompt_);
    return steam_scores(ensemble_->all_logits(pairs).cpu(), bins());
  }
  Json identity() const override { return identity_; }

 private:
  std::unique_ptr<models::SteamEnsemble> ensemble_;
  data::Tokenizer tokenizer_;
  std::string default_prompt_;
  Json identity_;
};

}  // namespace

AdvantagesResult run_steam_labels(const RecapConfig& config, const std::shared_ptr<dist::Group>& group) {
  dist::choose_device(config.device);
  const std::string checkpoint = value_checkpoint(config);
  check_ranks(*group, config, Step::kAdvantages, {{"the ensemble", checkpoint}});
  const ValueModelSection& section = config.advantages.advantage.model;
  ValueModelSection with_tokenizer = section;
  if (section.tokenizer_path.empty() && !data::find_tokenizer(checkpoint).empty()) {
    with_tokenizer.tokenizer_path = checkpoint;
  }
  auto ensemble = models::open_steam(checkpoint, {.autocast = section.precision == "bf16"});
  nn::move_params(*ensemble, device::current());
  dist::check_same_weights(*group, nn::named_params(*ensemble));
  const std::string& prompt = config.advantages.data.default_prompt;
  Json identity = judge_identity(checkpoint, section.precision);
  identity["default_prompt"] = prompt;
  SteamJudge judge(std::move(ensemble), value_tokenizer(with_tokenizer), prompt, std::move(identity));
  return label_with_steam(config, judge, group);
}

}  // namespace flexor::recap
