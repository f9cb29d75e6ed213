#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "cli/commands.h"
#include "cli/eval_page.h"
#include "cli/guidance_options.h"
#include "cli/policy_folder.h"
#include "cli/print_json.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "config/print.h"
#include "data/batch_reader.h"
#include "data/dataset.h"
#include "data/episode_split.h"
#include "dist/choose_device.h"
#include "dist/preflight.h"
#include "dist/same_weights.h"
#include "eval/evaluate.h"
#include "nn/named_params.h"
#include "policy/policy.h"
#include "train/ranks.h"

namespace flexor::cli {
namespace {

struct EvalOptions {
  std::string policy, dataset, output, rename_map, tokenizer_path, norm_stats, cache = "auto", device = "auto";
  std::vector<int64_t> episodes;
  std::optional<double> split;
  std::optional<int64_t> num_steps;
  std::optional<std::string> dtype;
  GuidanceOptions guidance;
  int64_t batch_size = 8, stride = 1, seed = 0, threads = 0;
  double timeout_s = 600;
  bool json = false;
};

void fields(config::FieldTable& table, EvalOptions& o) {
  table("policy", o.policy, "policy folder, checkpoint or run folder").required().value_name("DIR");
  table("dataset", o.dataset, "dataset folder, the one that holds meta/info.json").required().value_name("DIR");
  table("episodes", o.episodes, "episodes to use, as 3,4; default: all").value_name("LIST");
  table("split", o.split, "use the last ceil(n * X) episodes of each task: those that training held out").range(0, 1);
  table("num_steps", o.num_steps, "Euler steps; default: num_inference_steps of the policy").range(1, 1000);
  fields(table, o.guidance);
  table("stride", o.stride, "use every Nth frame").range(1, 1e9).value_name("N");
  table("seed", o.seed, "of noise and time").range(0, 1e18);
  table("output", o.output, "folder for eval.json and eval.html").short_flag('o').value_name("DIR");
  table("batch_size", o.batch_size, "frames at once").range(1, 65536);
  table("dtype", o.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  table("rename_map", o.rename_map, "recorded names to the policy's: {\"from\": \"to\"}; default: the policy's own")
      .value_name("JSON");
  table("norm_stats", o.norm_stats, "openpi's norm_stats.json; default: the policy's statistics").value_name("FILE");
  table("tokenizer_path", o.tokenizer_path, "file or folder; default: from the policy's folder").value_name("PATH");
  table("cache", o.cache, "frame cache to read: auto = the dataset's own when fresh, off, or a path")
      .value_name("PATH");
  dist::add_device_flag(table, o.device);
  table("threads", o.threads, "0: LibTorch's choice").range(0, 1024);
  table("timeout_s", o.timeout_s, "several ranks: seconds after which one that does not answer is an error")
      .range(1, 1e6);
  table("json", o.json, "print one JSON object instead of text");
}

std::map<std::string, std::string> rename_map(const EvalOptions& options, const policy::Policy& policy) {
  if (options.rename_map.empty()) {
    return policy.processor().config().rename_map;
  }
  std::map<std::string, std::string> result;
  try {
    const Json json = Json::parse(options.rename_map, "--rename-map");
    for (const auto& [from, to] : json.as_object()) {
      result[from] = to.as_string();
    }
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, error.what(), "--rename-map", "write it as '{\"from\": \"to\"}'");
  }
  return result;
}

/// A rename_map that does not fit the dataset is the command line's fault only if it was given there.
data::Dataset open_renamed(const data::DatasetOptions& dataset_options, const EvalOptions& options) {
  try {
    return data::Dataset::open(dataset_options);
  } catch (const Error& error) {
    const bool is_of_renames =
        error.kind() == ErrorKind::kConfig && std::string_view(error.what()).starts_with("rename_map");
    if (!is_of_renames || !options.rename_map.empty()) {
      throw;
    }
    throw Error(ErrorKind::kCheckpoint, error.what(),
                str_cat(policy_folder(options.policy), "/policy_preprocessor.json, ", error.where()),
                "--rename-map '{\"from\": \"to\"}' replaces the map of the policy");
  }
}

data::Dataset open_dataset(const EvalOptions& options, const policy::Policy& policy) {
  data::DatasetOptions dataset_options;
  dataset_options.root = options.dataset;
  dataset_options.rename_map = rename_map(options, policy);
  if (!options.episodes.empty()) {
    dataset_options.episodes = options.episodes;
  }
  const data::Dataset dataset = open_renamed(dataset_options, options);
  return options.split ? dataset.select(data::split_episodes(dataset, *options.split).held_out) : dataset;
}

std::vector<std::string> action_names(const data::Dataset& dataset, int64_t action_dim) {
  const std::vector<std::string>& names = dataset.feature(schema::kActionKey).names;
  return static_cast<int64_t>(names.size()) == action_dim ? names : std::vector<std::string>();
}

/// Batches of every `stride`-th frame, in order, with a progress bar.
class Frames {
 public:
  Frames(const data::Dataset& dataset, const data::BatchFormat& format, const EvalOptions& options)
      : reader_(std::make_shared<const data::Mixture>(dataset), format),
        positions_(static_cast<size_t>((dataset.num_frames() + options.stride - 1) / options.stride)),
        batch_size_(static_cast<size_t>(options.batch_size)),
        progress_("evaluating", static_cast<int64_t>(positions_.size()), "frames") {
    for (size_t i = 0; i < positions_.size(); ++i) {
      positions_[i] = static_cast<int64_t>(i) * options.stride;
    }
  }

  eval::EvalBatches batches() {
    return {.count = static_cast<int64_t>((positions_.size() + batch_size_ - 1) / batch_size_),
            .read = [this](int64_t i) { return reader_.read(of_batch(i)); },
            .done = [this](int64_t i) { progress_.advance(static_cast<int64_t>(of_batch(i).size())); }};
  }

 private:
  std::span<const int64_t> of_batch(int64_t i) const {
    const size_t first = static_cast<size_t>(i) * batch_size_;
    return std::span(positions_).subspan(first, std::min(batch_size_, positions_.size() - first));
  }

  data::BatchReader reader_;
  std::vector<int64_t> positions_;
  size_t batch_size_;
  Progress progress_;
};

void print(std::ostream& out, const eval::EvalResult& result) {
  const double mae =
      std::accumulate(result.mae.begin(), result.mae.end(), 0.0) / static_cast<double>(result.mae.size());
  out << "frames                " << result.frames << '\n';
  if (!result.guidance.is_off()) {
    out << "guidance              " << policy::guidance_name(result.guidance.type) << ", weight "
        << result.guidance.weight << '\n';
  }
  out << "loss                  " << result.loss << "\nmean absolute error   " << mae << "\n  of holding still    "
      << result.baseline_hold_mae << " (" << result.baseline_hold << " held)\n  of the mean action  "
      << result.baseline_mean_mae << '\n';
  size_t width = 0;
  for (const std::string& name : result.names) {
    width = std::max(width, name.size());
  }
  for (size_t i = 0; i < result.mae.size(); ++i) {
    out << "  " << result.names[i] << std::string(width - result.names[i].size() + 2, ' ') << result.mae[i] << '\n';
  }
}

policy::PolicyOptions policy_options(const EvalOptions& options) {
  policy::PolicyOptions result;
  result.dtype = options.dtype;
  result.tokenizer_path = options.tokenizer_path;
  result.norm_stats = options.norm_stats;
  result.device = dist::choose_device(options.device);
  return result;
}

/// Before anything costly: all ranks were told the same, and see the same data.
void check_ranks(dist::Group& group, const EvalOptions& options) {
  if (group.world() == 1) {
    return;
  }
  dist::choose_device(options.device);  // its kind is compared
  dist::Facts facts;
  for (const auto& [key, value] : config::flatten(options)) {
    facts.emplace_back("--" + key, value);
  }
  train::check_common(group, std::move(facts), {options.dataset});
}

eval::EvalResult evaluate_together(const EvalOptions& options, const std::shared_ptr<dist::Group>& group) {
  check_ranks(*group, options);
  if (group->is_main() && !options.output.empty()) {
    check_writable_folder(options.output);
  }
  const std::string folder = policy_folder(options.policy);
  const policy::Guidance guidance = guidance_of(options.guidance, folder);
  policy::Policy policy = policy::Policy::open(folder, policy_options(options));
  dist::check_same_weights(*group, nn::named_params(policy.model()));
  const data::Dataset dataset = open_dataset(options, policy);
  data::BatchFormat format;
  format.height = policy.config().image_resolution[0];
  format.width = policy.config().image_resolution[1];
  format.action_horizon = policy.config().chunk_size;
  format.frame_cache = options.cache;
  Frames frames(dataset, format, options);
  eval::EvalOptions eval_options;
  eval_options.num_steps = options.num_steps;
  eval_options.guidance = guidance;
  eval_options.seed = static_cast<uint64_t>(options.seed);
  eval_options.action_names = action_names(dataset, policy.config().action_dim());
  group->set_label("evaluating");
  return eval::evaluate(policy, frames.batches(), eval_options, group);
}

/// Numbers of weights that are no numbers say nothing.
void check_finite(const eval::EvalResult& result, const std::string& policy) {
  const bool is_finite =
      std::isfinite(result.loss) && std::ranges::all_of(result.mae, [](double error) { return std::isfinite(error); });
  if (!is_finite) {
    throw Error(ErrorKind::kRuntime, "the policy's losses or actions are not finite", policy,
                "are its weights and its statistics intact?");
  }
}

int run_eval(const Args& args, const Io& io) {
  const auto options = config::parse<EvalOptions>(args);
  if (options.split && !options.episodes.empty()) {
    throw Error(ErrorKind::kUsage, "--episodes and --split contradict each other");
  }
  install_interrupt_handlers();
  set_threads(options.threads);
  const auto group = train::join_ranks(dist::launch_of_process(), "ddp", options.timeout_s);
  const eval::EvalResult result = train::with_ranks(*group, [&] { return evaluate_together(options, group); });
  if (!group->is_main()) {
    return 0;
  }
  check_finite(result, options.policy);
  if (!options.output.empty()) {
    eval::write_json(result, options.output);
    write_file_atomic((std::filesystem::path(options.output) / "eval.html").string(),
                      eval_page(result, options.policy, options.dataset));
  }
  if (options.json) {
    print_json(io.out, eval::to_json(result));
  } else {
    print(io.out, result);
    if (!options.output.empty()) {
      io.out << "report                " << options.output << "/eval.html\n";
    }
  }
  return 0;
}

}  // namespace

const Command kEval{
    .path = "eval",
    .summary = "Compare a policy's actions with recorded ones, open loop.",
    .notes =
        "For each frame an action chunk is sampled and compared with what was recorded, in physical units: per joint, "
        "per step of the\nhorizon, beside two baselines (holding still; the mean action). With -o writes DIR/eval.json "
        "and DIR/eval.html.\nUnder a launcher all ranks share the frames, and rank 0 reports.\n\n    flexor eval "
        "--policy runs/koch --dataset /data/koch --split 0.1 -o runs/koch/eval\n",
    .usage = &config::usage<EvalOptions>,
    .run = &run_eval};

}  // namespace flexor::cli
