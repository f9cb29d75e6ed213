#include "data/frame_cache.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/str_cat.h"
#include "media/image_codec.h"

namespace flexor::data {
namespace {

constexpr std::string_view kRemake = "make it again with `flexor dataset cache`";

[[noreturn]] void bad_cache(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kData, what, path, std::string(kRemake));
}

FrameCachePreamble read_preamble(const std::string& path, std::span<const std::byte> file) {
  FrameCachePreamble found;
  const FrameCachePreamble expected;
  if (file.size() < sizeof(found) || std::memcmp(file.data(), expected.magic, sizeof(expected.magic)) != 0) {
    bad_cache(path, "not a frame cache");
  }
  std::memcpy(&found, file.data(), sizeof(found));
  if (found.byte_order != expected.byte_order || found.version != expected.version) {
    bad_cache(path, str_cat("frame cache of version ", found.version, ", expected ", expected.version));
  }
  if (found.file_size != file.size()) {
    bad_cache(path, str_cat("frame cache of ", file.size(), " bytes, expected ", found.file_size));
  }
  return found;
}

/// `size` bytes from `offset` on.
std::span<const std::byte> part(const std::string& path, std::span<const std::byte> file, uint64_t offset,
                                uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    bad_cache(path, str_cat("a part of the frame cache lies outside the file of ", file.size(), " bytes"));
  }
  return file.subspan(offset, size);
}

/// Rows of RGB pixels to three planes.
void split_planes(const media::Picture& picture, std::span<uint8_t> out) {
  const size_t n = out.size() / 3;
  uint8_t *red = out.data(), *green = red + n, *blue = green + n;
  for (size_t i = 0; i < n; ++i) {
    red[i] = picture.rgb[3 * i];
    green[i] = picture.rgb[3 * i + 1];
    blue[i] = picture.rgb[3 * i + 2];
  }
}

}  // namespace

std::shared_ptr<const FrameCache> FrameCache::open(const std::string& path) {
  check_input_file(path);
  std::shared_ptr<FrameCache> cache(new FrameCache(path, MappedFile::open(path)));
  cache->parse();
  return cache;
}

void FrameCache::parse() {
  const std::span<const std::byte> file = file_->bytes();
  const FrameCachePreamble preamble = read_preamble(path_, file);
  const auto json = part(path_, file, preamble.json_offset, preamble.json_size);
  ContentHash hash;
  FrameCachePreamble unhashed = preamble;
  unhashed.hash = 0;
  hash.add(std::as_bytes(std::span(&unhashed, 1)));
  hash.add(json);
  try {
    header_ = frame_cache_header_from_json(
        Json::parse(std::string_view(reinterpret_cast<const char*>(json.data()), json.size()), path_));
  } catch (const Error& error) {
    bad_cache(path_, str_cat("frame cache with a broken header: ", error.what()));
  }
  const auto pictures = static_cast<uint64_t>(header_.num_pictures());
  const auto times =
      part(path_, file, preamble.times_offset, header_.sources.size() * sizeof(FrameCacheHeader::Source::mtime_ns));
  times_offset_ = static_cast<int64_t>(preamble.times_offset);
  for (size_t i = 0; i < header_.sources.size(); ++i) {
    std::memcpy(&header_.sources[i].mtime_ns, times.data() + i * sizeof(int64_t), sizeof(int64_t));
  }
  if (header_.is_jpeg) {
    if (preamble.slots_offset % alignof(FrameCacheSlot) != 0 || pictures > file.size() / sizeof(FrameCacheSlot)) {
      bad_cache(path_, "the table of pictures lies outside the frame cache");
    }
    const auto slots = part(path_, file, preamble.slots_offset, pictures * sizeof(FrameCacheSlot));
    hash.add(slots);
    slots_ = {reinterpret_cast<const FrameCacheSlot*>(slots.data()), static_cast<size_t>(pictures)};
  } else if (pictures > file.size() / static_cast<uint64_t>(header_.picture_bytes()) ||
             kFrameCacheData + pictures * static_cast<uint64_t>(header_.picture_bytes()) > preamble.json_offset) {
    bad_cache(path_, str_cat("frame cache too short for ", pictures, " pictures"));
  }
  if (hash.value() != preamble.hash) {
    bad_cache(path_, "the header of the frame cache was altered");
  }
}

const FrameCacheHeader::Episode* FrameCache::find(int64_t episode_index) const {
  const auto& episodes = header_.episodes;
  const auto found = std::lower_bound(episodes.begin(), episodes.end(), episode_index,
                                      [](const auto& episode, int64_t index) { return episode.episode_index < index; });
  return found != episodes.end() && found->episode_index == episode_index ? &*found : nullptr;
}

int64_t FrameCache::camera_index(std::string_view recorded_name) const {
  const auto found = std::find(header_.cameras.begin(), header_.cameras.end(), recorded_name);
  return found == header_.cameras.end() ? -1 : found - header_.cameras.begin();
}

std::span<const uint8_t> FrameCache::bytes(int64_t number) const {
  FrameCacheSlot slot{static_cast<uint64_t>(kFrameCacheData + number * header_.picture_bytes()),
                      static_cast<uint64_t>(header_.picture_bytes())};
  if (header_.is_jpeg) {
    slot = slots_[static_cast<size_t>(number)];
  }
  const auto found = part(path_, file_->bytes(), slot.offset, slot.size);
  return {reinterpret_cast<const uint8_t*>(found.data()), found.size()};
}

void FrameCache::read(int64_t number, media::Picture& scratch, std::span<uint8_t> out) const {
  const std::span<const uint8_t> found = bytes(number);
  if (!header_.is_jpeg) {
    std::copy(found.begin(), found.end(), out.begin());
    return;
  }
  media::decode_image(found, path_, scratch);
  if (scratch.height != header_.height || scratch.width != header_.width) {
    bad_cache(path_,
              str_cat("picture of ", scratch.height, "x", scratch.width, " in a frame cache of ", header_.size_name()));
  }
  split_planes(scratch, out);
}

void FrameCache::prefetch(int64_t number) const {
  const std::span<const uint8_t> wanted = bytes(number);
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(wanted.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(wanted.data()) + wanted.size();
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);  // NOLINT(performance-no-int-to-ptr)
}

void FrameCache::store_times(const std::vector<std::pair<size_t, int64_t>>& mtimes_ns) const {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return;
  }
  FrameCachePreamble now;  // another program may have put another cache under this name
  const bool is_same =
      ::pread(descriptor, &now, sizeof(now), 0) == sizeof(now) && std::memcmp(&now, file_->data(), sizeof(now)) == 0;
  for (const auto& [source, mtime_ns] : is_same ? mtimes_ns : std::vector<std::pair<size_t, int64_t>>()) {
    const auto at = times_offset_ + static_cast<int64_t>(source * sizeof(mtime_ns));
    if (::pwrite(descriptor, &mtime_ns, sizeof(mtime_ns), at) != sizeof(mtime_ns)) {
      break;  // costs another comparison next time, nothing else
    }
  }
  ::close(descriptor);
}

}  // namespace flexor::data
