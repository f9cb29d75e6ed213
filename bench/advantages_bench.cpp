// RECAP's step 3 against its two parts alone. One JSON line a case, two threads, the cases in turns, medians; batches
// of 16 and of 128:
//   model      values of one batch in memory, again and again
//   decode     step 3 with a judge that computes nothing
//   step 3     the whole step, decoding beside the model; its wall time against (decode + model CPU s) / 2
//   cached     the whole step from a frame cache; its rate against the model's
// Ratios of CPU seconds stand beside those of wall time, which only mean something on an idle machine.
//
//   advantages_bench [DATASET [FRAMES [ROUNDS]]]     default: the project's small example
// The model has random weights, 112-pixel pictures and the proportions of the real one (as bench/peers/value_bench.py).
#include <ATen/Parallel.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/frame_cache_build.h"
#include "media/av_handle.h"
#include "models/value_weights.h"
#include "recap/advantages_step.h"
#include "recap/returns_step.h"
#include "recap/value_estimator.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace {

using namespace flexor;
namespace fs = std::filesystem;

constexpr int kThreads = 2;
constexpr int64_t kPixels = 112, kBatches[] = {16, 128};

recap::ValueEstimator make_estimator() {
  models::ValueConfig config;
  config.max_token_len = 48;
  config.architecture = {
      .image_size = kPixels,
      .vision = {.width = 384, .depth = 13, .num_heads = 6, .mlp_dim = 1536, .patch_size = 14},
      .gemma3 = {.vocab_size = 1024,
                 .width = 128,
                 .depth = 18,
                 .mlp_dim = 384,
                 .num_heads = 4,
                 .num_kv_heads = 1,
                 .head_dim = 64,
                 .query_pre_attn_scalar = 64},
      .expert = {.width = 64, .depth = 4, .mlp_dim = 224, .num_heads = 1, .num_kv_heads = 1, .head_dim = 64}};
  auto model = std::make_shared<models::ValueModel>(config);
  at::Generator generator = make_generator(/*seed=*/11);
  models::init_value_weights(*model, generator);
  return {model, data::Tokenizer::open(FLEXOR_BENCH_TOKENIZER)};
}

/// The value model, or nothing but the reading of its batches.
class Judge final : public recap::FrameJudge {
 public:
  Judge(recap::ValueEstimator& estimator, bool computes) : estimator_(estimator), computes_(computes) {}
  data::BatchFormat format(const recap::CameraSlots& slots) override {
    std::vector<std::string> cameras;
    for (const auto& [slot, camera] : slots) {
      cameras.push_back(camera);
    }
    return estimator_.format(cameras);
  }
  std::vector<float> values(const data::RawBatch& batch, const recap::CameraSlots& slots) override {
    last_ = estimator_.prepare(batch, slots);
    return computes_ ? estimator_.values(last_) : std::vector<float>(batch.tasks.size());
  }
  Json identity() const override { return Json(computes_); }
  const models::ValueBatch& last() const { return last_; }

 private:
  recap::ValueEstimator& estimator_;
  bool computes_;
  models::ValueBatch last_;
};

/// DATASET with metadata of its own, so that sidecars do not touch it; removed at the end.
class Workspace {
 public:
  explicit Workspace(const std::string& dataset)
      : root_(fs::temp_directory_path() / str_cat("flexor_advantages_bench.", getpid())) {
    fs::create_directories(root_);
    fs::copy(dataset + "/meta", root_ / "meta", fs::copy_options::recursive);
    for (const char* part : {"data", "videos", "images"}) {
      if (fs::exists(fs::path(dataset) / part)) {
        fs::create_directory_symlink(fs::canonical(fs::path(dataset) / part), root_ / part);
      }
    }
  }
  ~Workspace() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

recap::RecapConfig make_config(const std::string& root, recap::Step step, int64_t frames, int64_t batch_size) {
  config::Sources sources;
  sources.overrides = {str_cat("data.train_data_paths=[{dataset_path: '", root, "', type: sft}]"),
                       "data.robot_type=auto"};
  if (step == recap::Step::kAdvantages) {
    sources.overrides.push_back(str_cat("advantage.max_samples=", frames));
    sources.overrides.push_back("data.advantage_lookahead_step=1");
    sources.overrides.push_back(str_cat("advantage.batch_size=", batch_size));
    sources.overrides.push_back(str_cat("advantage.num_dataloader_workers_per_gpu=", kThreads));
  }
  return recap::load_recap_config(sources, step);
}

/// Numbers of one case over the rounds.
using Numbers = std::map<std::string, std::vector<double>>;

struct StepCost {
  double rate = 0, wall_s = 0, cpu_s = 0;  ///< frames a second; seconds a frame
  double model_share = 0, wait_share = 0;
};

StepCost run_step(const std::string& root, int64_t frames, int64_t batch_size, Judge& judge) {
  recap::AdvantagesStepRun step(make_config(root, recap::Step::kAdvantages, frames, batch_size));
  const double start = process_cpu_seconds();
  const recap::AdvantagesResult result = step.run(judge);
  const auto judged = static_cast<double>(result.judged);
  return {result.samples_per_s(), result.seconds / judged, (process_cpu_seconds() - start) / judged,
          result.model_s / result.seconds, result.waited_s / result.seconds};
}

/// Frames a second and CPU seconds a frame of a batch in memory.
std::pair<double, double> run_model(recap::ValueEstimator& estimator, const models::ValueBatch& batch, int64_t frames) {
  const double wall = wall_seconds(), cpu = process_cpu_seconds();
  int64_t done = 0;
  for (; done < frames; done += batch.size()) {
    estimator.values(batch);
  }
  const auto count = static_cast<double>(done);
  return {count / (wall_seconds() - wall), (process_cpu_seconds() - cpu) / count};
}

void print(const Numbers& numbers) {
  for (auto [name, values] : numbers) {
    std::sort(values.begin(), values.end());
    std::printf(
        "{\"bench\": \"advantages\", \"case\": \"%s\", \"median\": %.5g, \"min\": %.5g, \"max\": %.5g, \"n\": %zu}\n",
        name.c_str(), values[values.size() / 2], values.front(), values.back(), values.size());
  }
}

void round(const std::string& root, int64_t frames, bool cached, recap::ValueEstimator& estimator, Numbers& numbers) {
  const std::string kind = cached ? "cached" : "step 3";
  for (const int64_t batch_size : kBatches) {
    const auto add = [&](const std::string& what, double value) {
      numbers[str_cat(what, ", batch ", batch_size)].push_back(value);
    };
    Judge reader(estimator, /*computes=*/false), judge(estimator, /*computes=*/true);
    const StepCost decode = run_step(root, frames, batch_size, reader);
    const StepCost whole = run_step(root, frames, batch_size, judge);
    run_step(root, batch_size - 1, batch_size, reader);  // one full batch
    const auto [rate, model_cpu_s] = run_model(estimator, reader.last(), frames);
    add(kind + ": frames/s", whole.rate);
    add(kind + ": share of the model", whole.model_share);
    add(kind + ": share of waiting", whole.wait_share);
    add("model: frames/s", rate);
    add("model: frames/CPU s", 1 / model_cpu_s);
    if (cached) {
      add("cached / model, frames/s", whole.rate / rate);
      add("cached / model, frames/CPU s", model_cpu_s / whole.cpu_s);
    } else {
      add("decode: frames/CPU s", 1 / decode.cpu_s);
      add("step 3: wall s / ((decode + model CPU s) / 2)", whole.wall_s / ((decode.cpu_s + model_cpu_s) / kThreads));
      add("step 3: CPU s / (decode + model CPU s)", whole.cpu_s / (decode.cpu_s + model_cpu_s));
    }
  }
  for (const std::string& what : {kind + ": frames/s", std::string("model: frames/CPU s")}) {
    numbers[str_cat(what, ", batch 128 / batch 16")].push_back(numbers[what + ", batch 128"].back() /
                                                               numbers[what + ", batch 16"].back());
  }
}

void measure(const std::string& dataset, int64_t frames, int rounds) {
  const Workspace work(dataset);
  recap::ValueEstimator estimator = make_estimator();
  recap::compute_returns(make_config(work.root(), recap::Step::kReturns, frames, 1));
  Numbers numbers;
  for (const bool cached : {false, true}) {
    if (cached) {
      data::DatasetOptions all;
      all.root = work.root();
      data::make_frame_cache(data::Dataset::open(all),
                             {.path = work.root() + "/frame_cache/" + str_cat(kPixels, "x", kPixels, "-raw.frames"),
                              .height = kPixels,
                              .width = kPixels,
                              .num_threads = kThreads});
    }
    for (int i = 0; i < rounds; ++i) {
      round(work.root(), frames, cached, estimator, numbers);
    }
  }
  print(numbers);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    media::quiet_av_log();
    set_log_level(LogLevel::kWarn);
    at::set_num_threads(kThreads);
    const std::string dataset = argc > 1 ? argv[1] : FLEXOR_BENCH_DATASET;
    measure(dataset, argc > 2 ? std::atoll(argv[2]) : 256, argc > 3 ? std::atoi(argv[3]) : 1);
  } catch (const std::exception& exception) {
    std::fputs(format_error(to_error(exception)).c_str(), stderr);
    return 1;
  }
  return 0;
}
