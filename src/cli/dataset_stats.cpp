#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/dataset_stats_print.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "curate/openpi_stats.h"
#include "curate/stats.h"
#include "curate/stats_write.h"

namespace flexor::cli {
namespace {

constexpr std::string_view kOpenpi = "openpi";

struct DatasetStatsOptions {
  std::string root, method = "exact";
  std::optional<std::string> norm_stats;
  bool write = false, force = false, no_video = false, no_sampling = false, json = false;
  std::optional<int64_t> horizon;
  int64_t batch_size = 32, threads = 0;
  std::vector<int64_t> delta_mask;
};

void fields(config::FieldTable& table, DatasetStatsOptions& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("method", o.method, "exact quantiles, or those that LeRobot's newest release, LeRobot 0.4 or openpi compute")
      .choices({"exact", "lerobot", "lerobot-0.4", std::string(kOpenpi)});
  table("write", o.write, "write meta/stats.json (v2.1: also meta/episodes_stats.jsonl); entries of others stay");
  table("force", o.force, "with --write: also replace statistics that are complete");
  table("no-video", o.no_video, "leave the cameras out, videos and images");
  table("no-sampling", o.no_sampling, "every picture, where the method looks at some of them");
  table("norm-stats", o.norm_stats, "write openpi's norm_stats.json of state and actions to this file")
      .value_name("FILE");
  table("horizon", o.horizon,
        "of the norm_stats: actions of a window, 0 for every frame once; by default 50 with "
        "--method openpi, else 0")
      .range(0, 1e6);
  table("batch-size", o.batch_size, "of the norm_stats with --method openpi: windows of a batch").range(1, 1e9);
  table("delta-mask", o.delta_mask,
        "of the norm_stats: 6,-1 makes the first six action dims relative to the state, "
        "not the next");
  table("threads", o.threads, "threads; 0: one for each core, 16 at most").range(0, 4096);
  table("json", o.json, "print one JSON object instead of text");
}

void check(const DatasetStatsOptions& o) {
  const bool is_openpi = o.method == kOpenpi;
  const auto refuse = [](const std::string& what, const std::string& hint = {}) {
    throw Error(ErrorKind::kUsage, what, {}, hint);
  };
  if (o.norm_stats && o.norm_stats->empty()) {
    refuse("the name of the file to write is empty", "--norm-stats FILE");
  }
  if (o.force && !o.write) {
    refuse("--force without --write");
  }
  if (o.write && is_openpi) {
    refuse("--method openpi computes norm_stats, not a dataset's statistics", "--norm-stats FILE instead of --write");
  }
  const bool has_norm_stats = is_openpi || o.norm_stats;
  if (!has_norm_stats && (o.horizon || !o.delta_mask.empty())) {
    refuse("--horizon and --delta-mask need --norm-stats FILE or --method openpi");
  }
  if (has_norm_stats && !is_openpi && o.method != "exact" && (o.horizon.value_or(0) > 0 || !o.delta_mask.empty())) {
    refuse(str_cat("--method ", o.method, " knows no windows of actions"), "--method exact or openpi");
  }
}

curate::StatsMethod method_of(const std::string& name) {
  return name == "lerobot"       ? curate::StatsMethod::kLeRobot
         : name == "lerobot-0.4" ? curate::StatsMethod::kLeRobot04
                                 : curate::StatsMethod::kExact;
}

std::vector<const data::FeatureInfo*> features_of(const curate::StatsSource& source, const DatasetStatsOptions& o) {
  std::vector<const data::FeatureInfo*> features;
  for (const data::FeatureInfo& feature : source.numeric) {
    features.push_back(&feature);
  }
  for (const data::FeatureInfo& camera : source.cameras) {
    if (!o.no_video) {
      features.push_back(&camera);
    }
  }
  return features;
}

/// Computes and, if asked, writes; what is complete stays as it is without --force.
void run_stats(const curate::StatsSource& source, const DatasetStatsOptions& o, ThreadPool& pool, StatsReport& report) {
  std::vector<const data::FeatureInfo*> features = features_of(source, o);
  std::vector<const data::FeatureInfo*> wanted = features;
  bool needs_episodes = o.write && o.force && source.info.major == 2 && source.info.minor == 1;
  if (o.write && !o.force) {
    const curate::StoredStatsState state = curate::stored_stats_state(source, features);
    if (state.is_complete()) {
      report.left_alone = true;
      return;
    }
    needs_episodes = state.needs_episodes;
    wanted = state.incomplete;
    features = needs_episodes ? features : wanted;
  }
  if (o.write) {
    curate::check_stats_writable(source);
  }
  curate::StatsOptions options{.method = method_of(o.method), .sampling = {}, .per_episode = needs_episodes};
  if (o.no_sampling) {
    options.sampling = curate::PictureSampling::kEveryFrame;
  }
  curate::DatasetStats stats = curate::dataset_stats(source, features, pool, options);
  for (const data::FeatureInfo* feature : features) {
    if (std::ranges::find(wanted, feature) == wanted.end()) {
      stats.all.erase(feature->recorded_name);
    }
  }
  if (o.write) {
    report.written = curate::write_stats(source, stats);
  }
  report.num_pictures = stats.num_pictures;
  report.stats = std::move(stats.all);
}

/// @param stats  of the frames, which are the norm_stats when no windows are asked for
void run_norm_stats(const curate::StatsSource& source, const DatasetStatsOptions& o, StatsReport& report) {
  curate::OpenpiStatsOptions options;
  options.as_openpi = o.method == kOpenpi;
  options.horizon = o.horizon.value_or(options.as_openpi ? options.horizon : 0);
  options.batch_size = options.as_openpi ? o.batch_size : 1024;
  options.delta_mask = curate::delta_mask_from(o.delta_mask);
  report.norm_stats = curate::openpi_stats(source, options);
  if (o.norm_stats) {
    write_file_atomic(*o.norm_stats, curate::norm_stats_text(report.norm_stats));
    report.written.push_back(*o.norm_stats);
  }
}

constexpr FileKind kNormStats{"norm_stats.json", R"({"norm_stats":)"};

int run_dataset_stats(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetStatsOptions>(args);
  check(options);
  const curate::StatsSource source = curate::open_stats_source(options.root);
  for (const data::Finding& finding : source.findings) {
    log_warn(finding.message, {{"where", finding.where()}});
  }
  if (options.norm_stats) {
    check_output_file(*options.norm_stats, kNormStats);
  }
  StatsReport report;
  constexpr int kMaxThreads = 16;  // by default: each holds counters and a decoder
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  ThreadPool pool(options.threads > 0 ? static_cast<int>(options.threads) : cores);
  // On the pool, so that it works with that many threads and not one more.
  pool.submit([&] {
        if (options.method != kOpenpi) {
          run_stats(source, options, pool, report);
        }
        if (options.method == kOpenpi || options.norm_stats) {
          run_norm_stats(source, options, report);
        }
      })
      .get();
  report.method = options.method;
  if (options.json) {
    print_json(io.out, to_json(source, report));
  } else {
    print(io.out, source, report);
  }
  return 0;
}

}  // namespace

const Command kDatasetStats{
    .path = "dataset stats",
    .summary = "Compute the statistics of a dataset: extremes, mean, std and quantiles of every feature.",
    .notes =
        "Nothing is written without --write or --norm-stats. Dimensions that are constant, nearly constant or sparse "
        "are named, with what each normalisation would make of them. docs/statistics.md compares the methods.\n",
    .usage = &config::usage<DatasetStatsOptions>,
    .run = &run_dataset_stats,
    .for_rank_zero = true};

}  // namespace flexor::cli
