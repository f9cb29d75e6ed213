#include "data/frame_cache_writer.h"

#include <utility>

#include "base/content_hash.h"

namespace flexor::data {
namespace {

int64_t aligned(int64_t offset) {
  constexpr int64_t kAlignment = 64;
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

FrameCacheWriter::FrameCacheWriter(std::string path, const FrameCacheHeader& header)
    : file_(std::move(path)),
      is_jpeg_(header.is_jpeg),
      picture_bytes_(header.picture_bytes()),
      end_(kFrameCacheData),
      slots_(header.is_jpeg ? static_cast<size_t>(header.num_pictures()) : 0) {
  if (!is_jpeg_) {
    end_ = kFrameCacheData + header.num_pictures() * picture_bytes_;
    file_.reserve(end_);
  }
}

void FrameCacheWriter::write(int64_t number, std::span<const uint8_t> bytes) {
  int64_t offset = kFrameCacheData + number * picture_bytes_;
  if (is_jpeg_) {
    offset = end_.fetch_add(static_cast<int64_t>(bytes.size()));
    slots_[static_cast<size_t>(number)] = {static_cast<uint64_t>(offset), bytes.size()};
  }
  file_.write_at(offset, std::as_bytes(bytes));
}

int64_t FrameCacheWriter::finish(const FrameCacheHeader& header) {
  const std::string json = to_json(header).dump();
  std::vector<int64_t> times;
  for (const FrameCacheHeader::Source& source : header.sources) {
    times.push_back(source.mtime_ns);
  }
  const auto slots = std::as_bytes(std::span(slots_)), time_bytes = std::as_bytes(std::span(times));
  const int64_t json_offset = aligned(end_);
  const int64_t times_offset = aligned(json_offset + static_cast<int64_t>(json.size()));
  const int64_t slots_offset = aligned(times_offset + static_cast<int64_t>(time_bytes.size()));
  const int64_t size = slots_offset + static_cast<int64_t>(slots.size());
  file_.reserve(size);
  file_.write_at(json_offset, bytes_of(json));
  file_.write_at(times_offset, time_bytes);
  file_.write_at(slots_offset, slots);
  FrameCachePreamble preamble;
  preamble.file_size = static_cast<uint64_t>(size);
  preamble.json_offset = static_cast<uint64_t>(json_offset);
  preamble.json_size = json.size();
  preamble.times_offset = static_cast<uint64_t>(times_offset);
  preamble.slots_offset = static_cast<uint64_t>(slots_offset);
  ContentHash hash;
  hash.add(std::as_bytes(std::span(&preamble, 1)));
  hash.add(bytes_of(json));
  hash.add(slots);
  preamble.hash = hash.value();
  file_.write_at(0, std::as_bytes(std::span(&preamble, 1)));
  file_.commit();
  return size;
}

}  // namespace flexor::data
