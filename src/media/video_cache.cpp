#include "media/video_cache.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include "media/video_decoder.h"

namespace flexor::media {

struct VideoCache::State {
  size_t max_files;
  DecoderPool decoders;
  std::list<std::unique_ptr<VideoReader>> readers;  // most recently used first
  std::unordered_map<std::string, std::list<std::unique_ptr<VideoReader>>::iterator> by_path;
  int64_t decoded_by_closed = 0;
};

VideoCache::VideoCache(size_t max_files) : state_(std::make_unique<State>()) {
  state_->max_files = std::max<size_t>(1, max_files);
}

VideoCache::~VideoCache() = default;

VideoReader& VideoCache::reader(const std::string& path) {
  State& s = *state_;
  if (const auto found = s.by_path.find(path); found != s.by_path.end()) {
    s.readers.splice(s.readers.begin(), s.readers, found->second);
    return *s.readers.front();
  }
  auto opened = VideoReader::open(path, &s.decoders);
  if (s.readers.size() >= s.max_files) {
    s.decoded_by_closed += s.readers.back()->num_decoded();
    s.by_path.erase(s.readers.back()->path());
    s.readers.pop_back();
  }
  s.readers.push_front(std::move(opened));
  s.by_path.emplace(path, s.readers.begin());
  return *s.readers.front();
}

size_t VideoCache::size() const {
  return state_->readers.size();
}

int64_t VideoCache::num_decoded() const {
  int64_t total = state_->decoded_by_closed;
  for (const auto& reader : state_->readers) {
    total += reader->num_decoded();
  }
  return total;
}

}  // namespace flexor::media
