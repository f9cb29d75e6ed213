#include "recap/advantages_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/content_hash.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "data/loader.h"
#include "data/mixture.h"
#include "recap/advantages.h"
#include "recap/advantages_part.h"
#include "recap/batch_order.h"
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
  Json cameras = Json::array();
  for (const auto& [slot, camera] : slots) {
    cameras.push_back(Json(str_cat(slot, "=", camera)));
  }
  ContentHash hash;
  hash.add_values(std::span<const int64_t>(frames.episode_index));
  hash.add_values(std::span<const int64_t>(frames.frame_index));
  return Json::object({{"judge", judge.identity()},
                       {"cameras", cameras},
                       {"frames", frames.size()},
                       {"frames_hash", str_cat(hash.value())}});
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

void check_finite(const std::vector<float>& values, const data::RawBatch& batch, const std::string& root) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(ErrorKind::kRuntime, str_cat("the value model says ", values[i]),
                  str_cat(root, ", episode ", batch.episodes[i], ", frame ", batch.frames[i]));
    }
  }
}

/// Values on their way to disk; those that are left get there also when the work ends with an error.
class PendingValues {
 public:
  /// @param shards  null on ranks that write nothing
  PendingValues(ValueShards* shards, int64_t most) : shards_(shards), most_(static_cast<size_t>(most)) {}
  ~PendingValues() {
    try {
      flush();
    } catch (const std::exception&) {  // the run ends with an error already, and does them again
    }
  }
  PendingValues(const PendingValues&) = delete;
  PendingValues& operator=(const PendingValues&) = delete;

  void add(std::span<const double> values) {
    if (shards_ != nullptr) {
      values_.insert(values_.end(), values.begin(), values.end());
    }
    if (values_.size() >= most_) {
      flush();
    }
  }
  void flush() {
    if (shards_ != nullptr && !values_.empty()) {
      const std::vector<float> values(values_.begin(), values_.end());
      values_.clear();
      shards_->append(values);
    }
  }

 private:
  ValueShards* shards_;
  size_t most_;
  std::vector<double> values_;
};

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

/// Frames whose values an interrupted run left behind, the same number on all ranks.
int64_t AdvantagesStepRun::take_over(Part& part, const Json& plan) const {
  const AdvantageSection& section = config_.advantages.advantage;
  int64_t known = 0;
  if (group_->is_main()) {
    const std::string name = sidecar_name("advantages", section.tag);
    part.shards.emplace(str_cat(part.labelled.root, "/meta/", name.substr(0, name.rfind('.')), ".shards"), plan);
    ValueShards& shards = *part.shards;
    if (shards.size() < part.num_judged) {
      shards.truncate(shards.size() / section.batch_size * section.batch_size);
    }
    known = std::min(shards.size(), part.num_judged);
  }
  return static_cast<int64_t>(group_->all_reduce(static_cast<double>(known), dist::ReduceOp::kMax));
}

void AdvantagesStepRun::judge_part(Part& part, FrameJudge& judge, AdvantagesResult& result) const {
  const int64_t resumed = take_over(part, plan_of(judge, part.labelled.slots, part.frames));
  result.resumed += resumed;
  if (resumed > 0) {
    log_info("values of an interrupted run are taken over", {{"dataset", part.labelled.name}, {"frames", resumed}});
  }
  if (resumed < part.num_judged) {
    judge_frames(part, resumed, judge, result);
  }
  for (int64_t i = 0; group_->is_main() && i < part.num_judged; ++i) {
    part.values.push_back(part.shards->values()[static_cast<size_t>(i)]);
  }
}

void AdvantagesStepRun::judge_frames(Part& part, int64_t first, FrameJudge& judge, AdvantagesResult& result) const {
  const AdvantageSection& section = config_.advantages.advantage;
  const int64_t size = section.batch_size;
  const data::LoaderConfig loader_config{.num_workers = reading_threads(section.num_dataloader_workers_per_gpu),
                                         .prefetch = static_cast<int>(section.prefetch_factor),
                                         .format = judge.format(part.labelled.slots),
                                         .sampler = {}};
  const auto order = std::make_shared<const FramesInOrder>(part.num_judged, size);
  data::Loader loader(std::make_shared<const data::Mixture>(part.labelled.dataset), loader_config,
                      std::make_shared<const EveryNthBatch>(order, first / size + group_->rank(), group_->world()), 0);
  Progress progress(str_cat("values of ", part.labelled.name), part.num_judged - first, "frames");
  PendingValues pending(part.shards ? &*part.shards : nullptr, size * section.flush_interval);
  const double start = wall_seconds();
  group_->set_label("values of " + part.labelled.name, part.shards ? "started again, it goes on where it was" : "");
  const auto work = [&](int64_t) {
    const data::RawBatch batch = loader.next();
    const double before = wall_seconds();
    const std::vector<float> values = judge.values(batch, part.labelled.slots);
    result.model_s += wall_seconds() - before;
    check_finite(values, batch, part.labelled.root);
    return std::vector<double>(values.begin(), values.end());
  };
  dist::share_work(*group_, first / size, (part.num_judged + size - 1) / size, work,
                   [&](int64_t, std::span<const double> values) {
                     pending.add(values);
                     progress.advance(static_cast<int64_t>(values.size()));
                   });
  pending.flush();
  result.judged += part.num_judged - first;
  result.seconds += wall_seconds() - start;
  result.waited_s += loader.waited_s();
}

}  // namespace flexor::recap
