#include "recap/judge_batches.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "data/mixture.h"
#include "recap/batch_order.h"

namespace flexor::recap {
namespace {

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

void check_finite(const std::vector<float>& numbers, int64_t width, const data::RawBatch& batch,
                  const std::string& root) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) {
      const size_t row = i / static_cast<size_t>(width);
      throw Error(ErrorKind::kRuntime, str_cat("the value model says ", numbers[i]),
                  str_cat(root, ", episode ", batch.episodes[row], ", frame ", batch.frames[row]),
                  "its checkpoint is damaged or its training diverged: label with another one "
                  "(advantage.value_checkpoint), or train it again");
    }
  }
}

/// Frames whose numbers are known, whole batches unless all are; the same number on all ranks.
int64_t take_over(ValueShards* shards, const JudgedBatches& work, int64_t batch_size, dist::Group& group) {
  const int64_t num_frames = work.order->num_frames();
  int64_t known = 0;
  if (shards != nullptr) {
    if (shards->size() < num_frames * work.width) {
      shards->truncate(shards->size() / (batch_size * work.width) * batch_size * work.width);
    }
    known = std::min(shards->size() / work.width, num_frames);
  }
  return static_cast<int64_t>(group.all_reduce(static_cast<double>(known), dist::ReduceOp::kMax));
}

void judge_rest(const LabelledDataset& labelled, const AdvantageSection& section, const JudgedBatches& work,
                int64_t first, ValueShards* shards, dist::Group& group, AdvantagesResult& result) {
  const int64_t size = section.batch_size, num_frames = work.order->num_frames(), first_batch = first / size;
  const data::LoaderConfig loader_config{.num_workers = reading_threads(section.num_dataloader_workers_per_gpu),
                                         .prefetch = static_cast<int>(section.prefetch_factor),
                                         .format = work.format,
                                         .sampler = {}};
  data::Loader loader(std::make_shared<const data::Mixture>(labelled.dataset), loader_config,
                      std::make_shared<const EveryNthBatch>(work.order, first_batch + group.rank(), group.world()), 0);
  const std::string label = str_cat(work.what, " of ", labelled.name);
  Progress progress(label, num_frames - first, "frames");
  PendingValues pending(shards, size * work.width * section.flush_interval);
  group.set_label(label, "started again, it goes on where it was");
  const double start = wall_seconds();
  const auto judge = [&](int64_t) {
    const data::RawBatch batch = loader.next();
    const double before = wall_seconds();
    const std::vector<float> numbers = work.judge(batch);
    result.model_s += wall_seconds() - before;
    check_finite(numbers, work.width, batch, labelled.root);
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  const auto take = [&](int64_t, std::span<const double> numbers) {
    pending.add(numbers);
    progress.advance(static_cast<int64_t>(numbers.size()) / work.width);
  };
  dist::share_work(group, first_batch, (num_frames + size - 1) / size, judge, take);
  pending.flush();
  result.judged += num_frames - first;
  result.seconds += wall_seconds() - start;
  result.waited_s += loader.waited_s();
}

}  // namespace

Json judged_plan(const Json& judge, const CameraSlots& slots) {
  Json cameras = Json::array();
  for (const auto& [slot, camera] : slots) {
    cameras.push_back(Json(str_cat(slot, "=", camera)));
  }
  return Json::object({{"judge", judge}, {"cameras", cameras}});
}

std::optional<ValueShards> judge_batches(const LabelledDataset& labelled, const AdvantageSection& section,
                                         const JudgedBatches& work, dist::Group& group, AdvantagesResult& result) {
  std::optional<ValueShards> shards;
  if (group.is_main()) {
    shards.emplace(shards_folder(labelled.root, section.tag), work.plan);
  }
  ValueShards* const kept = shards ? &*shards : nullptr;
  const int64_t known = take_over(kept, work, section.batch_size, group);
  result.resumed += known;
  if (known > 0) {
    log_info("values of an interrupted run are taken over", {{"dataset", labelled.name}, {"frames", known}});
  }
  if (known < work.order->num_frames()) {
    judge_rest(labelled, section, work, known, kept, group, result);
  }
  return shards;
}

}  // namespace flexor::recap
