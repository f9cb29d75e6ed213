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

data::LoaderConfig loader_config(const TrainConfig& config, const schema::PolicyConfig& policy,
                                 const SourcePlace& place) {
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
          .sampler = {.seed = seed,
                      .batch_size = config.batch_size,
                      .rank = place.rank,
                      .world = place.world,
                      .accumulation = accumulation(config, place.world),
                      .first_step = place.position ? place.first_step : 0,
                      .start = place.position.value_or(data::SamplerState{})}};
}

namespace {

class DatasetSource final : public BatchSource {
 public:
  DatasetSource(const TrainConfig& config, const schema::PolicyConfig& policy, const TrainingData& data,
                std::shared_ptr<const data::Processor> processor, const SourcePlace& place)
      : DatasetSource(policy, data, std::move(processor), loader_config(config, policy, place), place.first_step) {}

  DatasetSource(const schema::PolicyConfig& policy, const TrainingData& data,
                std::shared_ptr<const data::Processor> processor, const data::LoaderConfig& config, int64_t first_step)
      : policy_(policy),
        processor_(std::move(processor)),
        seed_(config.sampler.seed),
        size_{data.train->num_frames(), data.train->num_episodes()},
        sampler_(std::make_shared<const data::Sampler>(*data.train, config.sampler)),
        loader_(data.train, config, sampler_, first_step * config.sampler.accumulation) {}

  MicroBatch next() override {
    const data::Sampler::Slice slice = sampler_->slice(loader_.step());
    MicroBatch micro{.batch = processor_->preprocess(loader_.next()), .noise = {}, .time = {}, .share = {}};
    micro.samples = slice.micro_samples;
    if (slice.step_samples != sampler_->step_size()) {
      micro.share = static_cast<double>(slice.count) / static_cast<double>(slice.step_samples);
    }
    const int64_t first = slice.count > 0 ? slice.offset : 0;
    FlowDraw draw = draw_flow(policy_, seed_, Stream::kTraining, slice.step, micro.size(), first);
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
  DataSize size_;
  std::shared_ptr<const data::Sampler> sampler_;
  data::Loader loader_;
};

class FileSource final : public BatchSource {
 public:
  FileSource(const TrainConfig& config, const schema::PolicyConfig& policy, int64_t accumulation,
             const SourcePlace& place)
      : file_(schema::read_batch_file(config.batch_file)),
        accumulation_(accumulation),
        world_(place.world),
        given_(place.first_step * accumulation) {
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
    return {.batch = file_.batch,
            .noise = pick("train_noise", "noise", step),
            .time = pick("train_time", "time", step),
            .samples = file_.batch.size() * world_,
            .share = {}};
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
  int64_t accumulation_, world_, given_;
};

}  // namespace

std::unique_ptr<BatchSource> dataset_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                            const TrainingData& data, std::shared_ptr<const data::Processor> processor,
                                            const SourcePlace& place) {
  return std::make_unique<DatasetSource>(config, policy, data, std::move(processor), place);
}

std::unique_ptr<BatchSource> file_source(const TrainConfig& config, const schema::PolicyConfig& policy,
                                         int64_t accumulation, const SourcePlace& place) {
  return std::make_unique<FileSource>(config, policy, accumulation, place);
}

}  // namespace flexor::train
