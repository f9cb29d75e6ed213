#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "models/memory_tape.h"
#include "train/parallel_context.h"

namespace flexor::train {

/// What a rank of a sharded training holds: dist/sharded_params.h, sharded_pass.h and flat_unit.h without values.
class ShardSketch final : public models::SketchObserver {
 public:
  struct Options {
    bool keep_gradients = false;      ///< zero1
    bool shard_weights = false;       ///< zero3, hybrid
    bool has_masters = false;         ///< of low precision parameters
    bool sums_micro_batches = false;  ///< a step has several
    bool unread_is_mapped = false;    ///< weights that nothing reads stay in their file, unless they are divided
    int64_t ranks = 1;                ///< that share one copy
  };
  ShardSketch(const ModelParts& model, const Options& options, models::MemoryLedger& ledger);

  /// Values of parameter that the fullest rank holds.
  double share_of(const at::TensorImpl* parameter) const;

  void begin(bool reduces);
  void end();
  void finish_gradients();  ///< waits for what is on the way
  void drop_gradients();

  void before_block(const at::Tensor& parameter) override;
  void after_block(const at::Tensor& parameter) override;
  void before_backward(const at::Tensor& parameter) override;
  void on_gradient(const at::TensorImpl* parameter, models::MemoryLedger::Held bytes) override;

 private:
  using Held = models::MemoryLedger::Held;
  struct Unit {
    double count = 0;  ///< values of the whole buffer, padding included
    double element = 0;
    bool trained = false;
    Held weights;                                      ///< the share, or all
    Held gathered, gradients, received, own_gradient;  ///< undivided weights and gradients; this rank's gradient
  };
  struct Block {
    std::vector<Unit> units;
    int64_t position = -1;
    bool read_in_backward = true, is_complete = false;
    int64_t num_trained = 0, arrived = 0;
  };

  void add_block(const std::vector<std::pair<size_t, at::Tensor>>& params, bool read_in_backward, int64_t position);
  double gradient_element(const Unit& unit) const;
  void gather(Block& block);
  void release(Block& block);
  void walk_forward(int64_t position);
  void turn();
  void walk_backward(int64_t position);
  void complete(Block& block);
  void complete_down_to(int64_t position);
  void release_down_to(int64_t position);
  void finish_reducing();
  int64_t length() const { return static_cast<int64_t>(blocks_.size()) - 1; }

  Options options_;
  models::MemoryLedger& ledger_;
  std::vector<Block> blocks_;                                                   ///< the sequence, then the root
  std::unordered_map<const at::TensorImpl*, std::pair<size_t, size_t>> homes_;  ///< block, unit
  std::vector<Held> whole_;                                                     ///< parameters that nobody divides
  std::vector<Unit*> in_flight_;
  bool is_forward_ = true, reduces_ = true;
  int64_t next_ = 0, back_next_ = -1, complete_next_ = -1, release_next_ = -1;
};

}  // namespace flexor::train
