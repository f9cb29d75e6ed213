#include <memory>
#include <ostream>

#include "base/log.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "config/command_line.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace flexor::cli {
namespace {

struct Options {
  std::string dataset;
  std::string resize = "uint8";
  int64_t batch_size = 8, num_workers = 2, prefetch = 2, image_size = 224, horizon = 50;
  int64_t steps = 50, warmup = 5, seed = 1000;
  bool json = false;
};

void fields(config::FieldTable& table, Options& o) {
  table("dataset", o.dataset, "dataset folder, the one that holds meta/info.json").required().value_name("DIR");
  table("batch_size", o.batch_size, "samples a batch").range(1, 65536);
  table("num_workers", o.num_workers, "decoding threads; 0: the measuring thread decodes").range(0, 1024);
  table("prefetch", o.prefetch, "batches read ahead per worker").range(1, 1024);
  table("image_size", o.image_size, "pictures are resized to this square with padding; 0: as recorded").range(0, 4096);
  table("resize", o.resize, "pictures as rounded uint8 or as float32").choices({"uint8", "float"});
  table("horizon", o.horizon, "steps of the action window; 0: no actions").range(0, 4096);
  table("steps", o.steps, "batches to measure").range(1, 1e6);
  table("warmup", o.warmup, "batches before that").range(0, 1e6);
  table("seed", o.seed, "of the order");
  table("json", o.json, "print one JSON object instead of text");
}

data::LoaderConfig loader_config(const Options& o) {
  data::LoaderConfig config;
  config.num_workers = static_cast<int>(o.num_workers);
  config.prefetch = static_cast<int>(o.prefetch);
  config.format.float_pictures = o.resize == "float";
  config.format.height = config.format.width = o.image_size;
  config.format.action_horizon = o.horizon;
  config.sampler.seed = config.format.seed = static_cast<uint64_t>(o.seed);
  config.sampler.batch_size = o.batch_size;
  return config;
}

int run(const Args& args, const Io& io) {
  const auto options = config::parse<Options>(args);
  data::DatasetOptions dataset_options;
  dataset_options.root = options.dataset;
  const auto mixture = std::make_shared<const data::Mixture>(data::Dataset::open(dataset_options));
  const auto cameras = static_cast<int64_t>(mixture->cameras().size());
  data::Loader loader(mixture, loader_config(options));
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
                                                               {"dataset", options.dataset},
                                                               {"cameras", cameras},
                                                               {"batch", options.batch_size},
                                                               {"image_size", options.image_size},
                                                               {"resize", options.resize},
                                                               {"horizon", options.horizon},
                                                               {"warmup", options.warmup}})},
                                    {"samples_per_s", static_cast<double>(samples) / total.wall_s[0]},
                                    {"pictures_per_s", pictures / total.wall_s[0]},
                                    {"pictures_per_cpu_s", pictures / total.cpu_s[0]},
                                    {"step_s", summary(batches.wall_s)},
                                    {"data_s", loader.waited_s() - waited_before},
                                    {"wall_s", total.wall_s[0]},
                                    {"cpu_s", total.cpu_s[0]},
                                    {"peak_rss_gib", peak_rss_gib()},
                                    {"threads", options.num_workers},
                                    {"dtype", options.resize == "float" ? "float32" : "uint8"}});
  io.out << bench_text(result, options.json);
  return 0;
}

}  // namespace

const Command kBenchLoader{
    .path = "bench loader",
    .summary = "Measure how fast batches come out of a dataset.",
    .notes =
        "Random access in training order, action windows included. The measuring thread does nothing else, so "
        "`data_s` is near the\nwall time; with a model the share of waiting is `data_wait_share` of a training run's "
        "metrics.\n",
    .usage = &config::usage<Options>,
    .run = &run};

}  // namespace flexor::cli
