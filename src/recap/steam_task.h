#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/raw_batch.h"
#include "data/tokenizer.h"
#include "dist/group.h"
#include "models/steam_model.h"
#include "recap/batch_order.h"
#include "recap/camera_slots.h"
#include "recap/steam_data.h"
#include "recap/value_checkpoint.h"
#include "train/task.h"

namespace flexor::recap {

/// The model's batch of 2 B raw frames, first frames in front: slots, prompt tokens of the first frames.
models::SteamBatch steam_batch(const data::RawBatch& raw, const CameraSlots& slots, const data::Tokenizer& tokenizer,
                               int64_t max_token_len, const std::string& default_prompt);

/// How frames are read for it: uint8 pictures of the model's size, no actions.
data::BatchFormat steam_format(const models::SteamConfig& config, const CameraSlots& slots);

/// Training of an ensemble as a task of train::Trainer: loop step s trains member s modulo E.
class SteamTask final : public train::Task {
 public:
  /// @param first_step  loop steps done before (resuming)  @param best  of the run so far
  SteamTask(const ValueStep& step, ValueRun run, std::shared_ptr<const SteamData> data,
            std::shared_ptr<models::SteamEnsemble> ensemble, data::Tokenizer tokenizer,
            std::shared_ptr<dist::Group> group, int64_t first_step, const BestValue& best);

  int64_t steps_per_epoch() const { return items_->steps_per_epoch(); }  ///< of the loop
  const std::map<std::string, double>& last_validation() const { return last_validation_; }
  const BestValue& best() const { return best_.best(); }

  void fetch() override;
  train::TaskLoss forward() override;
  double waited_s() const override { return loader_->waited_s(); }
  train::DataSize size() const override;
  int64_t branch() const override { return loop_step_ % ensemble_->config().ensemble_size; }
  void step_done() override { ++loop_step_; }
  Json take_metrics() override;
  bool validate(train::MetricsLog& log, int64_t step) override;
  std::string save(const train::LoopState& state) override;

 private:
  struct Sums {
    double loss = 0, best = 0, neighbor = 0;
    int64_t count = 0;
    void add(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& losses);
    void add(std::span<const double> numbers);
    std::vector<double> packed() const { return {loss, best, neighbor, static_cast<double>(count)}; }
  };
  Sums evaluate(const SteamDataset& dataset);

  ValueStep step_;
  ValueRun run_;
  std::shared_ptr<const SteamData> data_;
  std::shared_ptr<models::SteamEnsemble> ensemble_;
  data::Tokenizer tokenizer_;
  std::shared_ptr<dist::Group> group_;
  std::shared_ptr<const RecapOrder> items_;
  std::shared_ptr<const SteamOrder> order_;
  std::unique_ptr<data::Loader> loader_;
  BestKeeper best_;
  int64_t loop_step_ = 0, batch_number_ = 0;
  models::SteamBatch batch_;
  at::Tensor labels_;
  Sums sums_;
  std::map<std::string, double> last_validation_;
};

}  // namespace flexor::recap
