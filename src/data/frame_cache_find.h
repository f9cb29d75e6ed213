#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "data/dataset.h"
#include "data/frame_cache.h"

namespace flexor::data {

/// Folder below a dataset's root where caches are kept, and how their names end.
inline constexpr std::string_view kFrameCacheFolder = "frame_cache", kFrameCacheSuffix = ".frames";

/// Frame caches of a folder, sorted by name; none if there is no such folder.
std::vector<std::string> list_frame_caches(const std::string& folder);

/// The cache to read pictures of `dataset` from; null: decode them.
/// request.where = "auto": a fresh one of the size in the dataset's folder frame_cache, raw before JPEG; one that is
/// stale or broken is named in a warning. "off": none. Else a cache file, or a folder with caches of several datasets,
/// which must hold a fresh one.
/// @throws Error(kFile), Error(kData) for a path that has none for this dataset and size, with the reason
std::shared_ptr<const FrameCache> find_frame_cache(const Dataset& dataset, const FrameCacheRequest& request);

/// The answers of find_frame_cache for one dataset. Thread-safe.
class FrameCacheMemo {
 public:
  /// @param all  the dataset with all episodes that were opened
  std::shared_ptr<const FrameCache> get(const Dataset& all, const FrameCacheRequest& request);

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, int64_t, int64_t>, std::shared_ptr<const FrameCache>> found_;
};

}  // namespace flexor::data
