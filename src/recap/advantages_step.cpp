#include "recap/advantages_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/advantages.h"
#include "recap/advantages_part.h"
#include "recap/batch_order.h"
#include "recap/judge_batches.h"
#include "recap/mixture_config.h"

namespace flexor::recap {

namespace {

FrameColumns columns_of(const data::Dataset& dataset, const ReturnsSidecar& returns) {
  const FrameRows rows(returns.episode_index, returns.frame_index, returns.path);
  FrameColumns frames;
  for (const int64_t row : rows.rows_of(dataset, "the dataset changed: flexor recap returns --config FILE")) {
    const auto i = static_cast<size_t>(row);
    frames.episode_index.push_back(returns.episode_index[i]);
    frames.frame_index.push_back(returns.frame_index[i]);
    frames.returns.push_back(returns.returns[i]);
    frames.rewards.push_back(returns.rewards[i]);
  }
  return frames;
}

/// What the values on disk are of. The data themselves are told by their frames only.
Json plan_of(const FrameJudge& judge, const CameraSlots& slots, const FrameColumns& frames) {
  Json plan = judged_plan(judge.identity(), slots);
  ContentHash hash;
  hash.add_values(std::span<const int64_t>(frames.episode_index));
  hash.add_values(std::span<const int64_t>(frames.frame_index));
  plan["frames"] = frames.size(), plan["frames_hash"] = str_cat(hash.value());
  return plan;
}

/// The tag that a sidecar says it is of must be the one asked for: a renamed file would go unnoticed.
void check_tag(const ReturnsSidecar& returns, const std::string& tag) {
  const Json* noted = returns.made_by ? returns.made_by->find("tag") : nullptr;
  if (noted != nullptr && noted->is_string() && noted->as_string() != tag) {
    throw Error(ErrorKind::kData,
                str_cat("the returns are of the tag '", noted->as_string(), "', expected '", tag, "'"), returns.path,
                "the file was renamed: flexor recap returns --config FILE writes it again");
  }
}

/// The statistics of another run in stats.json are worth a word: the reference would normalise by them.
void warn_of_stats(const std::string& root, const ReturnsSidecar& returns) {
  const std::string path = root + "/meta/stats.json";
  try {
    const Json stats = Json::read_file(path);
    const Json* noted = stats.find("return");
    const Json* low = noted == nullptr ? nullptr : noted->find("min");
    if (low != nullptr && low->is_number() && low->as_double() != returns.range().min) {
      log_warn("stats.json holds the returns of another tag; the range of the sidecar is used",
               {{"file", path}, {"found", low->as_double()}, {"used", returns.range().min}});
    }
  } catch (const Error&) {  // not needed
  }
}

/// Returns that give labels with a meaning.
void check_returns(const std::vector<ReturnsSidecar>& returns, const ReturnRange& range, bool allow_no_success) {
  const std::string& where = returns.front().path;
  const bool has_success =
      std::any_of(returns.begin(), returns.end(), [](const ReturnsSidecar& sidecar) { return sidecar.has_success(); });
  if (!has_success && !allow_no_success) {
    throw Error(ErrorKind::kData,
                "no dataset has a successful episode, so advantages would only say how near the end is", where,
                "add successes, or advantage.allow_no_success=true");
  }
  if (range.max <= range.min) {
    throw Error(ErrorKind::kData, str_cat("the returns span no range: ", range.min, " to ", range.max), where,
                "data.return_min, data.return_max");
  }
  if (range.max != 0 && !allow_no_success) {
    throw Error(ErrorKind::kData,
                str_cat("the largest return is ", range.max, ", expected 0: every advantage would be shifted by ",
                        -range.max / (range.max - range.min)),
                where, "data.return_max=0, or advantage.allow_no_success=true");
  }
}

}  // namespace

AdvantagesStepRun::~AdvantagesStepRun() = default;

AdvantagesStepRun::AdvantagesStepRun(const RecapConfig& config, std::shared_ptr<dist::Group> group)
    : config_(config), group_(std::move(group)) {
  const AdvantageSection& section = config_.advantages.advantage;
  const DataSection& data = config_.advantages.data;
  std::vector<ReturnsSidecar> returns;
  for (const DatasetEntry& entry : data.train_data_paths) {
    const std::string root = resolved_path(data, entry.dataset_path);
    returns.push_back(read_returns(root, section.returns_tag));
    check_tag(returns.back(), section.returns_tag);
    warn_of_stats(root, returns.back());
  }
  std::vector<const ReturnsSidecar*> pointers;
  for (const ReturnsSidecar& sidecar : returns) {
    pointers.push_back(&sidecar);
  }
  range_ = common_range(pointers, data.return_min, data.return_max);
  check_returns(returns, range_, section.allow_no_success);
  for (size_t i = 0; i < returns.size(); ++i) {
    open_part(data.train_data_paths[i], returns[i]);
  }
}

void AdvantagesStepRun::open_part(const DatasetEntry& entry, const ReturnsSidecar& returns) {
  const DataSection& data = config_.advantages.data;
  LabelledDataset labelled = open_labelled(data, entry);
  (void)read_mixture_config(mixture_path(labelled.root));  // which is added to in the end
  FrameColumns frames = columns_of(labelled.dataset, returns);
  check_frame_order(frames, labelled.root);
  const int64_t size = frames.size();
  const int64_t num_rows =
      std::min({size, config_.advantages.advantage.max_samples.value_or(size), entry.max_samples.value_or(size)});
  const int64_t num_judged = std::min(size, num_rows + std::min(data.advantage_lookahead_step, size));
  parts_.push_back(std::make_unique<Part>(Part{
      .labelled = std::move(labelled), .frames = std::move(frames), .num_rows = num_rows, .num_judged = num_judged}));
}

void AdvantagesStepRun::judge_part(Part& part, FrameJudge& judge, AdvantagesResult& result) const {
  const AdvantageSection& section = config_.advantages.advantage;
  const CameraSlots& slots = part.labelled.slots;
  const JudgedBatches work{.what = "values",
                           .order = std::make_shared<const FramesInOrder>(part.num_judged, section.batch_size),
                           .format = judge.format(slots),
                           .plan = plan_of(judge, slots, part.frames),
                           .judge = [&](const data::RawBatch& batch) { return judge.values(batch, slots); }};
  part.shards = judge_batches(part.labelled, section, work, *group_, result);
  for (int64_t i = 0; part.shards && i < part.num_judged; ++i) {
    part.values.push_back(part.shards->values()[static_cast<size_t>(i)]);
  }
}

}  // namespace flexor::recap
