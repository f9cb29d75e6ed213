#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/frame_cache.h"

namespace flexor::data {

// The key of a frame cache: which files its pictures come from, and which pictures of them.
//
// A file is named by its path below the dataset's root and identified by its size and a hash of its whole content. The
// content is read again only when its modification time is not the noted one: a dataset that was moved, copied,
// downloaded again or consists of links to other places keeps its cache; a file with one other byte does not.
// The pictures are identified by a hash of the times at which they are looked up in a video (rows, for images in
// Parquet), so that corrected metadata or timestamps are noticed too.

/// Sources, cameras and episodes of a cache of all that `dataset` holds. Files are looked at, but not read: hashes of
/// their contents stay 0. @throws Error(kFile)
FrameCacheHeader describe_frames(const Dataset& dataset);

/// Why `cache` does not hold the pictures of `dataset` (one sentence without the place); nothing if it does. Episodes
/// and cameras that the cache has beyond the dataset's do not matter.
/// @throws Error(kFile) if a source cannot be read, Error(kInterrupted), Error(kTerminated)
std::optional<std::string> why_stale(const FrameCache& cache, const Dataset& dataset);

}  // namespace flexor::data
