#include "train/parallel_context.h"

namespace flexor::train {

namespace {

class SingleProcess final : public ParallelContext {
 public:
  int64_t rank() const override { return 0; }
  int64_t world() const override { return 1; }
  void reduce_gradients(optim::AdamW&) override {}
  double mean(double value) override { return value; }
  bool any(bool value) override { return value; }
  void barrier() override {}
};

}  // namespace

std::unique_ptr<optim::AdamW> ParallelContext::make_optimizer(const ModelParts& model, const optim::AdamWConfig& config,
                                                              int64_t) {
  std::vector<std::pair<std::string, at::Tensor>> params;
  params.reserve(model.params.size());
  for (const auto& [name, place] : model.params) {
    params.emplace_back(name, *place);
  }
  return std::make_unique<optim::AdamW>(params, config);
}

void ParallelContext::save(const optim::AdamW& optimizer, const optim::Ema* ema, const Write& write) {
  if (is_main()) {
    write(optimizer, ema);
  }
  barrier();
}

std::unique_ptr<ParallelContext> single_process() {
  return std::make_unique<SingleProcess>();
}

}  // namespace flexor::train
