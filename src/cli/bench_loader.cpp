#include <memory>
#include <ostream>

#include "base/error.h"
#include "base/str_cat.h"
#include "cli/bench_config.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "config/command_line.h"
#include "data/cached_pictures.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/batch_source.h"
#include "train/data_setup.h"

namespace flexor::cli {
namespace {

struct BenchLoaderOptions {
  std::string dataset;
  std::vector<std::string> config, overrides;
  std::optional<std::string> resize, cache;
  std::optional<int64_t> batch_size, num_workers, prefetch, image_size, horizon, seed;
  int64_t steps = 50, warmup = 5;
  bool json = false;
};

void fields(config::FieldTable& table, BenchLoaderOptions& o) {
  table("dataset", o.dataset, "dataset folder, the one that holds meta/info.json").value_name("DIR");
  table("config", o.config, "instead: the data of this training configuration, read as `flexor train` reads them")
      .value_name("FILE");
  table.rest("key=value", o.overrides, "keys of a training configuration");
  table("batch_size", o.batch_size, "samples a batch; default: 8, or the configuration's").range(1, 65536);
  table("num_workers", o.num_workers,
        "decoding threads, 0: the measuring thread decodes; default: 2, or the configuration's")
      .range(0, 1024);
  table("prefetch", o.prefetch, "batches read ahead per worker; default: 2, or the configuration's").range(1, 1024);
  table("image_size", o.image_size,
        "without a configuration: pictures are resized to this square with padding, 0: as recorded; default: 224")
      .range(0, 4096);
  table("resize", o.resize, "pictures as rounded uint8 or as float32; default: uint8, or the configuration's")
      .choices({"uint8", "float"});
  table("cache", o.cache,
        "frame cache to read: auto = the dataset's own when fresh, off, or a path; default: auto, or the "
        "configuration's")
      .value_name("PATH");
  table("horizon", o.horizon, "without a configuration: steps of the action window, 0: no actions; default: 50")
      .range(0, 4096);
  table("steps", o.steps, "batches to measure").range(1, 1e6);
  table("warmup", o.warmup, "batches before that").range(0, 1e6);
  table("seed", o.seed, "of the order; default: 1000, or the configuration's").range(0, 4294967295.0);
  table("json", o.json, "print one JSON object instead of text");
}

data::LoaderConfig loader_config(const BenchLoaderOptions& o) {
  data::LoaderConfig config;
  config.num_workers = static_cast<int>(o.num_workers.value_or(2));
  config.prefetch = static_cast<int>(o.prefetch.value_or(2));
  config.format.float_pictures = o.resize == "float";
  config.format.height = config.format.width = o.image_size.value_or(224);
  config.format.action_horizon = o.horizon.value_or(50);
  config.format.frame_cache = o.cache.value_or("auto");
  config.sampler.seed = config.format.seed = static_cast<uint64_t>(o.seed.value_or(1000));
  config.sampler.batch_size = o.batch_size.value_or(8);
  return config;
}

/// Keys of the configuration, with what flags say over them.
std::vector<std::string> keys_of(const BenchLoaderOptions& o) {
  if (o.image_size || o.horizon) {
    throw Error(ErrorKind::kUsage,
                "a configuration's policy decides picture size and action window, found " +
                    std::string(o.image_size ? "--image-size" : "--horizon"),
                {}, "policy.image_resolution and policy.chunk_size are its keys");
  }
  std::vector<std::string> keys = o.overrides;
  const auto set = [&](const char* key, const auto& value) {
    if (value) {
      keys.push_back(str_cat(key, "=", *value));
    }
  };
  set("batch_size", o.batch_size);
  set("num_workers", o.num_workers);
  set("prefetch", o.prefetch);
  set("dataset.resize", o.resize);
  set("dataset.cache", o.cache);
  set("seed", o.seed);
  return keys;
}

struct Source {
  std::shared_ptr<const data::Mixture> mixture;
  data::LoaderConfig config;
  std::string name;
};

Source open_source(const BenchLoaderOptions& options) {
  const bool has_config = !options.config.empty() || !options.overrides.empty();
  if (has_config == !options.dataset.empty()) {
    throw Error(ErrorKind::kUsage,
                "expected either --dataset or --config, found " + std::string(has_config ? "both" : "neither"));
  }
  if (!has_config) {
    data::DatasetOptions dataset_options;
    dataset_options.root = options.dataset;
    return {std::make_shared<const data::Mixture>(data::Dataset::open(dataset_options)), loader_config(options),
            options.dataset};
  }
  const train::TrainConfig config = bench_train_config(options.config, keys_of(options));
  const train::TrainingData data = train::open_training_data(config);
  return {data.train, train::loader_config(config, train::policy_for_data(config, *data.all)), config.dataset.root};
}

/// Format of the frame caches that pictures come from; null where videos are decoded.
Json cache_format(const data::Mixture& mixture, const data::BatchFormat& format) {
  if (!data::can_use_frame_cache(format)) {
    return {};
  }
  const auto cache = mixture.dataset(0).frame_cache({format.frame_cache, format.height, format.width});
  return cache ? Json(cache->header().format_name()) : Json();
}

int run_bench_loader(const Args& args, const Io& io) {
  const auto options = config::parse<BenchLoaderOptions>(args);
  const Source source = open_source(options);
  const data::BatchFormat& format = source.config.format;
  const auto cameras = static_cast<int64_t>(source.mixture->cameras().size());
  data::Loader loader(source.mixture, source.config);
  int64_t samples = 0;
  for (int64_t i = 0; i < options.warmup; ++i) {
    loader.next();
  }
  Timings batches, total;
  const double waited_before = loader.waited_s();
  const Stopwatch all;
  for (int64_t i = 0; i < options.steps; ++i) {
    const Stopwatch watch;
    samples += loader.next().size();
    watch.stop(batches);
  }
  all.stop(total);
  const auto pictures = static_cast<double>(samples * cameras);
  const Json result = Json::object({{"workload", Json::object({{"bench", "loader"},
                                                               {"dataset", source.name},
                                                               {"cameras", cameras},
                                                               {"batch", source.config.sampler.batch_size},
                                                               {"image_size", format.height},
                                                               {"resize", format.float_pictures ? "float" : "uint8"},
                                                               {"cache", cache_format(*source.mixture, format)},
                                                               {"horizon", format.action_horizon},
                                                               {"warmup", options.warmup}})},
                                    {"samples_per_s", static_cast<double>(samples) / total.wall_s[0]},
                                    {"pictures_per_s", pictures / total.wall_s[0]},
                                    {"pictures_per_cpu_s", pictures / total.cpu_s[0]},
                                    {"step_s", summary(batches.wall_s)},
                                    {"data_s", loader.waited_s() - waited_before},
                                    {"wall_s", total.wall_s[0]},
                                    {"cpu_s", total.cpu_s[0]},
                                    {"peak_rss_gib", peak_rss_gib()},
                                    {"threads", source.config.num_workers},
                                    {"dtype", format.float_pictures ? "float32" : "uint8"}});
  print_bench(io.out, result, options.json);
  return 0;
}

}  // namespace

const Command kBenchLoader{
    .path = "bench loader",
    .summary = "Measure how fast batches come out of a dataset.",
    .notes =
        "Random access in training order, action windows included. The measuring thread does nothing else, so "
        "`data_s` is near the\nwall time; with a model the share of waiting is `data_wait_share` of a training run's "
        "metrics.\n\nWithout decoding: make a frame cache first; `--cache off` measures decoding beside it.\n\n"
        "    flexor dataset cache /data/koch --size 224\n"
        "    flexor bench loader --dataset /data/koch --num-workers 2\n",
    .usage = &config::usage<BenchLoaderOptions>,
    .run = &run_bench_loader};

}  // namespace flexor::cli
