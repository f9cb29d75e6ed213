#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "base/thread_pool.h"
#include "curate/picture_histogram.h"
#include "curate/stats_source.h"

namespace flexor::curate {

enum class PictureSampling { kSampled, kEveryFrame };

/// Decodes pictures of all cameras of a dataset, several episodes at a time, and calls
/// body(index into `cameras`, episode number, histogram) on this thread, episode by episode in ascending order.
/// Pictures are counted at full size. The same for any number of threads.
/// @throws Error(kFile), Error(kData) naming file, camera, episode and frame
void for_each_picture_histogram(const StatsSource& source, const std::vector<const data::FeatureInfo*>& cameras,
                                PictureSampling sampling, ThreadPool& pool,
                                const std::function<void(size_t, size_t, const PictureHistogram&)>& body);

}  // namespace flexor::curate
