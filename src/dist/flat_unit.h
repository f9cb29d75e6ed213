#pragma once
#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/group.h"
#include "tensor/absent.h"

namespace flexor::dist {

/// Whom a unit talks to. The two kinds of traffic have groups of their own, so
/// that each keeps its order whatever the other does.
struct ShardGroups {
  std::shared_ptr<Group> weights,
      gradients;                         ///< of the ranks that share one copy
  std::shared_ptr<Group> replicas = {};  ///< of the ranks that hold the same part of
                                         ///< other copies; null: one copy
  int64_t world = 1;                     ///< all ranks: what gradients are divided by
};

/// What of a unit is divided.
struct FlatOptions {
  bool trained = true;
  bool shard_weights = false;       ///< else every rank keeps all weights
  bool keep_gradients = false;      ///< the undivided gradients of a step stay until
                                    ///< it ends, for the next micro batch
  bool has_masters = false;         ///< low precision parameters are updated in
                                    ///< float32: so are their gradients
  bool sums_micro_batches = false;  ///< a step has several
  FetchValues fetch = {};           ///< brings values of the buffer for a file, while it is released
};

/// A parameter of a model.
struct ParamPlace {
  std::string name;
  at::Tensor* place;  ///< in the model
  size_t index = 0;   ///< in the model's list
};

/// What this rank holds of a parameter.
struct ParamShare {
  std::string name;
  std::vector<int64_t> shape;  ///< of the parameter
  int64_t first = 0;           ///< of its values, where the share begins
  at::Tensor values;           ///< [n], n >= 0; a leaf that requires a gradient if the
                               ///< parameter does
};

/// Parameters of one dtype that are gathered and reduced together, in one flat
/// buffer whose length divides by the number of ranks; each rank has the values
/// [rank * n, (rank + 1) * n). The parameters of the model become views of the
/// buffer. Every parameter begins at a multiple of 512 bytes, so that kernels
/// see the addresses that they see without sharding. Collectives are started in
/// the order of the calls; they must agree on all ranks.
class FlatUnit {
 public:
  /// Moves the parameters in. @param params  all of one dtype and device @param
  /// world  the values are rank 0's of this
  FlatUnit(const std::vector<ParamPlace>& params, const FlatOptions& options, ShardGroups groups, Group& world);

  struct Part {
    ParamPlace param;
    std::vector<int64_t> shape;
    int64_t first, count;  ///< in the buffer
    bool has_gradient = false;
  };
  const std::vector<Part>& parts() const { return parts_; }
  const FlatOptions& options() const { return options_; }
  at::ScalarType dtype() const { return shard_.scalar_type(); }
  int64_t shard_size() const { return shard_.numel(); }
  int64_t bytes() const;  ///< of the whole buffer

  /// Values [first, first + n) of a parameter that `rank` of the group has.
  struct Range {
    int64_t first = 0, count = 0;
    int64_t offset = 0;  ///< in that rank's shard
  };
  Range range_of(const Part& part, int64_t rank) const;
  ParamShare share_of(const Part& part) const;
  at::Tensor gradient_of(const Part& part) const;  ///< [n], of this rank's share; call after finish_step()

  // Weights.
  void start_gather();  ///< nothing if they are there or on the way
  void wait_gather();
  void release();             ///< only with shard_weights
  void all_gather_weights();  ///< starts it, after an update; only without shard_weights

  // Gradients.
  void add_gradient(size_t part, at::Tensor& grad);  ///< and drops it
  void start_reduce();
  void finish_reduce();
  void finish_step();  ///< over the copies, if there are several
  bool has_gradients() const { return grad_shard_.defined(); }
  void drop_gradients();

 private:
  bool is_gathered() const;  ///< or on the way
  at::ScalarType full_dtype() const;

  FlatOptions options_;
  ShardGroups groups_;
  std::vector<Part> parts_;
  at::Tensor flat_;   ///< [ranks * n]; its storage comes and goes with shard_weights
  at::Tensor shard_;  ///< [n]; without shard_weights a view of flat_
  Pending gathering_, reducing_;
  bool is_gathering_ = false, is_reducing_ = false;
  at::Tensor full_grad_;   ///< [ranks * n]
  bool is_stale_ = false;  ///< full_grad_ is of an earlier step
  at::Tensor received_;    ///< [ranks * n]: what every rank has for this one
  at::Tensor grad_shard_;  ///< [n]
};

}  // namespace flexor::dist
