#include "data/frame_cache_find.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/frame_cache_key.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

/// What was found among the candidates.
struct Search {
  std::shared_ptr<const FrameCache> cache;
  std::vector<std::string> other_sizes;                      // "224x224"
  std::vector<std::pair<std::string, std::string>> useless;  // (path, why)
};

std::string remake_command(const Dataset& dataset, const FrameCacheRequest& request) {
  const std::string size =
      request.height == request.width ? str_cat(request.height) : str_cat(request.height, "x", request.width);
  return str_cat("flexor dataset cache ", dataset.root(), " --size ", size);
}

/// Caches of the wanted size, raw ones first; what cannot be opened is noted.
std::vector<std::shared_ptr<const FrameCache>> candidates(const std::vector<std::string>& paths,
                                                          const FrameCacheRequest& request, Search& search) {
  std::vector<std::shared_ptr<const FrameCache>> caches;
  for (const std::string& path : paths) {
    try {
      auto cache = FrameCache::open(path);
      if (cache->header().height == request.height && cache->header().width == request.width) {
        caches.push_back(std::move(cache));
      } else {
        search.other_sizes.push_back(cache->header().size_name());
      }
    } catch (const Error& error) {
      search.useless.emplace_back(path, error.what());
    }
  }
  std::stable_sort(caches.begin(), caches.end(),
                   [](const auto& a, const auto& b) { return !a->header().is_jpeg && b->header().is_jpeg; });
  return caches;
}

Search search(const Dataset& dataset, const FrameCacheRequest& request, const std::vector<std::string>& paths) {
  Search result;
  for (const auto& cache : candidates(paths, request, result)) {
    std::optional<std::string> reason;
    try {
      reason = why_stale(*cache, dataset);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
        throw;
      }
      reason = error.what();
    }
    if (!reason) {
      result.cache = cache;
      return result;
    }
    result.useless.emplace_back(cache->path(), *reason);
  }
  return result;
}

[[noreturn]] void refuse(const Dataset& dataset, const FrameCacheRequest& request, const Search& found) {
  const std::string hint = remake_command(dataset, request) + " --out " + request.where;
  if (!found.useless.empty()) {
    const auto& [path, why] = found.useless.front();
    throw Error(ErrorKind::kData, str_cat("frame cache does not fit the dataset ", dataset.root(), ": ", why), path,
                hint);
  }
  if (!found.other_sizes.empty()) {
    throw Error(ErrorKind::kData,
                str_cat("frame cache has pictures of ", join_text(found.other_sizes, ", "), ", expected ",
                        request.height, "x", request.width),
                request.where, hint);
  }
  throw Error(ErrorKind::kFile, "no frame cache in the folder", request.where, hint);
}

void log_use(const FrameCache& cache) {
  const FrameCacheHeader& header = cache.header();
  std::vector<LogField> fields = {
      {"path", cache.path()}, {"size", header.size_name()}, {"format", header.format_name()}};
  if (const Json* psnr = header.jpeg_error.find("psnr_db"); psnr != nullptr && psnr->is_number()) {
    fields.emplace_back("psnr_db", short_number(psnr->as_double()));
  }
  log_info("frame cache used", std::move(fields));
}

std::shared_ptr<const FrameCache> find_beside(const Dataset& dataset, const FrameCacheRequest& request) {
  const auto paths = list_frame_caches(str_cat(dataset.root(), "/", kFrameCacheFolder));
  Search found = search(dataset, request, paths);
  for (const auto& [path, why] : found.useless) {
    log_warn(str_cat("frame cache not used: ", why), {{"path", path}, {"hint", remake_command(dataset, request)}});
  }
  if (!found.cache && !found.other_sizes.empty()) {
    log_info("frame caches have pictures of other sizes",
             {{"found", join_text(found.other_sizes, ",")}, {"wanted", str_cat(request.height, "x", request.width)}});
  }
  return std::move(found.cache);
}

}  // namespace

std::vector<std::string> list_frame_caches(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code code;
  for (auto entry = fs::directory_iterator(folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    if (const std::string path = entry->path().string(); path.ends_with(kFrameCacheSuffix)) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::shared_ptr<const FrameCache> find_frame_cache(const Dataset& dataset, const FrameCacheRequest& request) {
  if (request.where == "off" || dataset.cameras().empty()) {
    return nullptr;
  }
  std::shared_ptr<const FrameCache> cache;
  if (request.where == "auto") {
    cache = find_beside(dataset, request);
  } else {
    const bool is_folder = fs::is_directory(request.where);
    if (!is_folder && !fs::exists(request.where)) {
      throw Error(ErrorKind::kFile, "no such frame cache", request.where,
                  remake_command(dataset, request) + " --out " + request.where);
    }
    Search found = search(dataset, request, is_folder ? list_frame_caches(request.where) : std::vector{request.where});
    if (!found.cache) {
      refuse(dataset, request, found);
    }
    cache = std::move(found.cache);
  }
  if (cache) {
    log_use(*cache);
  }
  return cache;
}

std::shared_ptr<const FrameCache> FrameCacheMemo::get(const Dataset& all, const FrameCacheRequest& request) {
  const std::lock_guard lock(mutex_);
  const std::tuple key(request.where, request.height, request.width);
  auto found = found_.find(key);
  if (found == found_.end()) {
    found = found_.emplace(key, find_frame_cache(all, request)).first;
  }
  return found->second;
}

}  // namespace flexor::data
