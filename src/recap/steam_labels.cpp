#include "recap/steam_labels.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/batch_order.h"
#include "recap/judge_batches.h"
#include "recap/labelled_dataset.h"
#include "recap/sidecar.h"
#include "table/parquet_writer.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

/// Columns of STEAM's sidecar, by position of the dataset; the last frames of episodes keep their zeros.
struct SteamRows {
  explicit SteamRows(const data::Dataset& dataset, int64_t num_members)
      : members(static_cast<size_t>(num_members)), size(static_cast<size_t>(dataset.num_frames())) {
    for (auto* column : {&score, &mean, &min, &variance, &stride, &entropy, &entropy_mean, &entropy_variance}) {
      column->assign(size, 0.0);
    }
    member_values.assign(size * members, 0.0);
    for (int64_t position = 0; position < dataset.num_frames(); ++position) {
      episode_index.push_back(dataset.frame_id(position).episode_index);
      frame_index.push_back(dataset.frame_id(position).frame_index);
    }
  }

  static int64_t width(int64_t num_members) { return kColumns + num_members; }

  /// Scores of pairs as numbers, width() a pair: what set() takes, on any rank.
  static std::vector<float> packed(const SteamScores& scores) {
    const at::Tensor entropy = scores.member_entropy.mean(0);
    const at::Tensor columns =
        at::stack({scores.min, scores.mean, scores.min, scores.variance, scores.expected_stride_normalized,
                   scores.entropy, entropy, (scores.member_entropy - entropy).square().mean(0)},
                  1);
    const at::Tensor rows = at::cat({columns, scores.member_values.t()}, 1).contiguous();  // [B, 8 + M]
    return {rows.const_data_ptr<float>(), rows.const_data_ptr<float>() + rows.numel()};
  }

  void set(const std::vector<int64_t>& anchors, std::span<const float> numbers) {
    std::vector<double>* const columns[kColumns] = {&score,  &mean,    &min,          &variance,
                                                    &stride, &entropy, &entropy_mean, &entropy_variance};
    for (const int64_t anchor : anchors) {
      const auto at = static_cast<size_t>(anchor);
      for (size_t c = 0; c < kColumns; ++c) {
        (*columns[c])[at] = numbers[c];
      }
      std::ranges::copy(numbers.subspan(kColumns, members),
                        member_values.begin() + static_cast<std::ptrdiff_t>(at * members));
      numbers = numbers.subspan(kColumns + members);
    }
  }

  static constexpr size_t kColumns = 8;
  size_t members, size;
  std::vector<int64_t> episode_index, frame_index;
  std::vector<double> score, mean, min, variance, stride, entropy, entropy_mean, entropy_variance, member_values;
};

/// Batches of pairs (t, min(t + K, T-1)): positions hold the first frames, then the second ones.
class PairsInOrder final : public data::BatchOrder {
 public:
  PairsInOrder(const data::Dataset& dataset, int64_t k, int64_t batch_size) : batch_size_(batch_size) {
    for (int64_t e = 0; e < dataset.num_episodes(); ++e) {
      const int64_t first = dataset.first_position(e), last = first + dataset.episode(e).length - 1;
      for (int64_t t = first; t < last; ++t) {
        anchors_.push_back(t);
        partners_.push_back(std::min(t + k, last));
      }
    }
  }

  int64_t num_frames() const override { return static_cast<int64_t>(anchors_.size()); }
  data::SamplerState state(int64_t step) const override { return {.epoch = 0, .start_index = step * batch_size_}; }
  const std::vector<int64_t>& anchors() const { return anchors_; }

  Batch batch(int64_t step) const override {
    Batch batch{.epoch = 0, .first_index = step * batch_size_, .positions = part(anchors_, step)};
    const std::vector<int64_t> second = part(partners_, step);
    batch.positions.insert(batch.positions.end(), second.begin(), second.end());
    return batch;
  }

 private:
  /// Beyond the end: the last pair alone, which nobody asks for.
  std::vector<int64_t> part(const std::vector<int64_t>& all, int64_t step) const {
    const int64_t end = std::min(num_frames(), (step + 1) * batch_size_);
    const int64_t first = std::min(step * batch_size_, end - 1);
    return {all.begin() + first, all.begin() + end};
  }

  int64_t batch_size_;
  std::vector<int64_t> anchors_, partners_;
};

/// What the scores on disk are of. The data themselves are told by their pairs only.
Json plan_of(const PairJudge& judge, const LabelledDataset& labelled, const PairsInOrder& pairs) {
  Json plan = judged_plan(judge.identity(), labelled.slots);
  ContentHash hash;
  hash.add_values(std::span<const int64_t>(pairs.anchors()));
  plan["method"] = "steam", plan["k"] = judge.bins().k, plan["members"] = judge.num_members();
  plan["pairs"] = pairs.num_frames(), plan["pairs_hash"] = str_cat(hash.value());
  return plan;
}

/// Scores of all pairs of a dataset; the numbers on disk stay until the labels are written, on the main rank.
std::optional<ValueShards> judge_pairs(const LabelledDataset& labelled, const AdvantageSection& section,
                                       PairJudge& judge, dist::Group& group, SteamRows& rows,
                                       AdvantagesResult& result) {
  const auto order = std::make_shared<const PairsInOrder>(labelled.dataset, judge.bins().k, section.batch_size);
  const JudgedBatches work{
      .what = "scores",
      .order = order,
      .format = judge.format(labelled.slots),
      .plan = plan_of(judge, labelled, *order),
      .width = SteamRows::width(judge.num_members()),
      .judge = [&](const data::RawBatch& batch) { return SteamRows::packed(judge.scores(batch, labelled.slots)); }};
  std::optional<ValueShards> shards = judge_batches(labelled, section, work, group, result);
  if (shards) {
    rows.set(order->anchors(), shards->values());
  }
  return shards;
}

void write_rows(const std::string& path, const SteamRows& rows, const std::vector<uint8_t>& labels,
                const Json& made_by) {
  const auto column = [](const char* name, const auto& values) {
    return table::WriteColumn{.name = name, .values = values};
  };
  table::write_parquet(
      path,
      {column("episode_index", rows.episode_index), column("frame_index", rows.frame_index),
       column("advantage", labels), column("advantage_continuous", rows.score),
       column("ensemble_signed_score", rows.score), column("p_progress_mean", rows.mean),
       column("p_progress_min", rows.min), column("p_progress_variance", rows.variance),
       table::WriteColumn{.name = "member_values",
                          .layout = table::Layout::kList,
                          .width = static_cast<int64_t>(rows.members),
                          .values = rows.member_values},
       column("expected_stride_normalized", rows.stride), column("entropy_aggregated", rows.entropy),
       column("entropy_member_mean", rows.entropy_mean), column("entropy_member_variance", rows.entropy_variance)},
      {{std::string(kSidecarMetadata), made_by.dump()}});
}

Json tag_entry(const AdvantageSection& section, const PairJudge& judge, const LabelReport& report, double threshold) {
  Json entry = Json::object({{"positive_threshold", threshold},
                             {"label_mode", section.label_mode},
                             {"ensemble_size", judge.num_members()},
                             {"num_bins", judge.bins().num_bins},
                             {"total_samples", report.frames},
                             {"num_positive", report.positive},
                             {"dataset_type", report.type}});
  if (section.label_mode == "quantile") {
    entry["rollout_quantile"] = section.rollout_quantile;
    if (section.expert_quantile) {
      entry["expert_quantile"] = *section.expert_quantile;
    }
  }
  return entry;
}

SteamThresholds thresholds_of(const std::vector<LabelledDataset>& datasets, const std::vector<SteamRows>& rows,
                              const AdvantageSection& section) {
  std::vector<double> rollout, sft;
  for (size_t i = 0; i < datasets.size(); ++i) {
    std::vector<double>& pool = is_sft(datasets[i].type) ? sft : rollout;
    pool.insert(pool.end(), rows[i].score.begin(), rows[i].score.end());
  }
  if (section.label_mode == "quantile" && rollout.empty() && !section.expert_quantile) {
    throw Error(ErrorKind::kConfig, "label_mode quantile needs rollout frames, or expert_quantile for sft ones",
                "advantage.label_mode", "list a dataset of type rollout, or advantage.expert_quantile=0.3");
  }
  return steam_thresholds(rollout, sft,
                          {.label_mode = section.label_mode,
                           .rollout_quantile = section.rollout_quantile,
                           .expert_quantile = section.expert_quantile,
                           .positive_threshold = section.positive_threshold});
}

/// One dataset's labels and its entry in mixture_config.yaml; the report goes to `result`.
void write_labels(const LabelledDataset& labelled, const SteamRows& rows, std::optional<double> threshold,
                  const AdvantageSection& section, const PairJudge& judge, AdvantagesResult& result) {
  const std::vector<uint8_t> labels = steam_labels(rows.score, threshold);
  const LabelPool pool{.name = labelled.name, .type = labelled.type, .scores = rows.score};
  LabelReport report = label_report(pool, labels, {.threshold = result.threshold}, rows.mean);
  report.sidecar = str_cat(labelled.root, "/meta/", sidecar_name("advantages", section.tag));
  Json entry = tag_entry(section, judge, report, threshold.value_or(result.threshold));
  Json made_by = entry;
  made_by["step"] = "advantages", made_by["method"] = "steam", made_by["tag"] = section.tag;
  made_by["type"] = labelled.type;
  write_rows(report.sidecar, rows, labels, made_by);
  const std::string path = mixture_path(labelled.root);
  Json noted = read_mixture_config(path);
  note_tag(noted, section.tag, std::move(entry));
  write_file_atomic(path, block_yaml(noted));
  log_info("labels written", {{"file", report.sidecar}, {"frames", report.frames}, {"positive", report.positive}});
  result.reports.push_back(std::move(report));
}

}  // namespace

AdvantagesResult label_with_steam(const RecapConfig& config, PairJudge& judge,
                                  const std::shared_ptr<dist::Group>& group) {
  const AdvantageSection& section = config.advantages.advantage;
  std::vector<LabelledDataset> datasets;
  for (const DatasetEntry& entry : config.advantages.data.train_data_paths) {
    datasets.push_back(open_labelled(config.advantages.data, entry));
    (void)read_mixture_config(mixture_path(datasets.back().root));  // before hours of work
  }
  AdvantagesResult result;
  result.is_main = group->is_main();
  std::vector<SteamRows> rows;
  std::vector<std::optional<ValueShards>> shards;
  for (const LabelledDataset& labelled : datasets) {
    SteamRows& scores = rows.emplace_back(labelled.dataset, judge.num_members());
    shards.push_back(judge_pairs(labelled, section, judge, *group, scores, result));
  }
  if (!result.is_main) {
    return result;
  }
  const SteamThresholds thresholds = thresholds_of(datasets, rows, section);
  result.threshold = thresholds.rollout.value_or(thresholds.sft.value_or(0));
  for (size_t i = 0; i < datasets.size(); ++i) {
    const std::optional<double> threshold = is_sft(datasets[i].type) ? thresholds.sft : thresholds.rollout;
    write_labels(datasets[i], rows[i], threshold, section, judge, result);
  }
  for (auto& numbers : shards) {
    numbers->remove();
  }
  return result;
}

}  // namespace flexor::recap
