#include "train/batch_source.h"

#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/augment.h"
#include "data/loader.h"
#include "models/batch_check.h"
#include "schema/batch_file.h"
#include "tensor/tensor.h"
#include "train/noise.h"

namespace flexor::train {

data::LoaderConfig loader_config(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t rank,
                                 int64_t world) {
  const auto seed = static_cast<uint64_t>(config.seed);
  return {.num_workers = config.num_workers,
          .prefetch = config.prefetch,
          .format = {.float_pictures = config.dataset.resize == "float",
                     .height = policy.image_resolution[0],
                     .width = policy.image_resolution[1],
                     .action_horizon = policy.chunk_size,
                     .image_transforms = data::image_transforms_from_name(config.dataset.image_transforms),
                     .seed = seed,
                     .frame_cache = config.dataset.cache},
          .sampler = {.seed = seed, .batch_size = config.batch_size, .rank = rank, .world = world}};
}

namespace {

class DatasetSource final : public BatchSource {
 public:
  DatasetSource(const TrainConfig& config, const schema::PolicyConfig& policy, const TrainingData& data,
                std::shared_ptr<const data::Processor> processor, int64_t rank, int64_t world, int64_t first_batch)
      : policy_(policy),
        processor_(std::move(processor)),
        seed_(static_cast<uint64_t>(config.seed)),
        rank_(rank),
        world_(world),
        size_{data.train->num_frames(), data.train->num_episodes()},
        loader_(data.train, loader_config(config, policy, rank, world), first_batch) {}

  MicroBatch next() override {
    const int64_t number = loader_.step() * world_ + rank_;
    MicroBatch micro{processor_->preprocess(loader_.next()), {}, {}};
    FlowDraw draw = draw_flow(policy_, seed_, Stream::kTraining, number, micro.size());
    micro.noise = std::move(draw.noise);
    micro.time = std::move(draw.time);
    return micro;
  }
  DataSize size() const override { return size_; }
  double waited_s() const override { return loader_.waited_s(); }
  Position position() const override {
    const data::SamplerState state = loader_.state();
    return {state.epoch, state.start_index, size_};
  }

 private:
  schema::PolicyConfig policy_;
  std::shared_ptr<const data::Processor> processor_;
  uint64_t seed_;
  int64_t rank_, world_;
  DataSize size_;
  data::Loader loader_;
};

class FileSource final : public BatchSource {
 public:
  FileSource(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t accumulation, int64_t first_batch)
      : file_(schema::read_batch_file(config.batch_file)), accumulation_(accumulation), given_(first_batch) {
    if (!file_.batch.action.defined()) {
      throw Error(ErrorKind::kData, "training needs a tensor 'action', the file has none", config.batch_file);
    }
    if (file_.batch.size() != config.batch_size) {
      throw Error(
          ErrorKind::kConfig,
          str_cat("'batch_size': expected the file's ", file_.batch.size(), " samples, found ", config.batch_size),
          config.batch_file, str_cat("batch_size=", file_.batch.size()));
    }
    file_.at("noise");
    file_.at("time");
    models::check_batch(file_.batch, policy, /*training=*/true);
  }

  MicroBatch next() override {
    const int64_t step = given_++ / accumulation_;
    return {file_.batch, pick("train_noise", "noise", step), pick("train_time", "time", step)};
  }
  DataSize size() const override { return {file_.batch.size(), 1}; }
  double waited_s() const override { return 0.0; }
  Position position() const override { return {given_, 0, {0, 0}}; }

 private:
  Tensor pick(const std::string& per_step, const std::string& fallback, int64_t step) const {
    if (file_.has(per_step) && step < file_.at(per_step).size(0)) {
      return file_.at(per_step)[step];
    }
    return file_.at(fallback);
  }

  schema::BatchFile file_;
  int64_t accumulation_, given_;
};

}  // namespace

std::unique_ptr<BatchSource> dataset_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                            const TrainingData& data, std::shared_ptr<const data::Processor> processor,
                                            int64_t rank, int64_t world, int64_t first_batch) {
  return std::make_unique<DatasetSource>(config, policy, data, std::move(processor), rank, world, first_batch);
}

std::unique_ptr<BatchSource> file_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                         int64_t accumulation, int64_t first_batch) {
  return std::make_unique<FileSource>(config, policy, accumulation, first_batch);
}

}  // namespace flexor::train
