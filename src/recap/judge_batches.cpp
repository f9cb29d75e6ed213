#include "recap/judge_batches.h"

#include <algorithm>

#include "base/clock.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "data/mixture.h"
#include "recap/batch_order.h"

namespace flexor::recap {

void judge_batches(const LabelledDataset& labelled, const AdvantageSection& section, const JudgedBatches& work,
                   dist::Group& group, AdvantagesResult& result) {
  const int64_t size = section.batch_size, num_frames = work.order->num_frames(), first = work.first_batch * size;
  if (first >= num_frames) {
    return;
  }
  const data::LoaderConfig loader_config{.num_workers = reading_threads(section.num_dataloader_workers_per_gpu),
                                         .prefetch = static_cast<int>(section.prefetch_factor),
                                         .format = work.format,
                                         .sampler = {}};
  data::Loader loader(std::make_shared<const data::Mixture>(labelled.dataset), loader_config,
                      std::make_shared<const EveryNthBatch>(work.order, work.first_batch + group.rank(), group.world()),
                      0);
  const std::string label = str_cat(work.what, " of ", labelled.name);
  Progress progress(label, num_frames - first, "frames");
  group.set_label(label);
  const double start = wall_seconds();
  const auto judge = [&](int64_t) {
    const data::RawBatch batch = loader.next();
    const double before = wall_seconds();
    std::vector<double> numbers = work.judge(batch);
    result.model_s += wall_seconds() - before;
    return numbers;
  };
  const auto take = [&](int64_t step, std::span<const double> numbers) {
    work.take(step, numbers);
    progress.advance(std::min(size, num_frames - step * size));
  };
  dist::share_work(group, work.first_batch, (num_frames + size - 1) / size, judge, take);
  result.judged += num_frames - first;
  result.seconds += wall_seconds() - start;
  result.waited_s += loader.waited_s();
}

}  // namespace flexor::recap
