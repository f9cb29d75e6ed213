#include "media/mp4_samples.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace flexor::media {
namespace {

constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxSamples = uint64_t{1} << 26;  // 25 days at 30 pictures a second

/// Big-endian reads within a box; beyond its end they give 0 and `is_short`.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : data_(data) {}

  uint64_t number(size_t count) {
    if (count > data_.size() - place_) {
      is_short_ = true;
      place_ = data_.size();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value = value << 8 | static_cast<unsigned char>(data_[place_++]);
    }
    return value;
  }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  void skip(size_t count) { place_ += std::min(count, data_.size() - place_); }
  size_t left() const { return data_.size() - place_; }
  bool is_short() const { return is_short_; }

 private:
  std::string_view data_;
  size_t place_ = 0;
  bool is_short_ = false;
};

/// Content of the first box of that type, or nothing.
std::optional<std::string_view> find_box(std::string_view parent, std::string_view type, size_t number = 0) {
  while (parent.size() >= 8) {
    Bytes head(parent);
    uint64_t size = head.u32(), header = 8;
    if (size == 1 && parent.size() >= 16) {
      head.skip(4);
      size = head.number(8);
      header = 16;
    } else if (size == 0) {
      size = parent.size();
    }
    if (size < header || size > parent.size()) {
      return std::nullopt;
    }
    if (parent.substr(4, 4) == type && number-- == 0) {
      return parent.substr(header, size - header);
    }
    parent.remove_prefix(size);
  }
  return std::nullopt;
}

std::optional<std::string_view> find_path(std::string_view parent, std::initializer_list<std::string_view> path) {
  std::optional<std::string_view> box = parent;
  for (const std::string_view type : path) {
    box = box ? find_box(*box, type) : std::nullopt;
  }
  return box;
}

/// Walks the boxes of a file. @returns the first offset behind the last whole box; `body` gets type, content and size
template <typename Body>
uint64_t for_each_top_box(std::ifstream& file, uint64_t size, const Body& body) {
  uint64_t place = 0;
  while (place + 8 <= size) {
    std::array<char, 16> head{};
    file.clear();
    file.seekg(static_cast<std::streamoff>(place));
    file.read(head.data(), head.size());
    Bytes bytes({head.data(), head.size()});
    uint64_t box = bytes.u32(), header = 8;
    bytes.skip(4);
    if (box == 1) {
      box = bytes.number(8);
      header = 16;
    } else if (box == 0) {
      box = size - place;
    }
    if (box < header || !body(std::string_view(head.data() + 4, 4), place + header, box - header, place + box)) {
      break;
    }
    place += box;
  }
  return place;
}

bool is_mp4(std::ifstream& file) {
  std::array<char, 8> head{};
  file.read(head.data(), head.size());
  return file.gcount() == head.size() && std::memcmp(head.data() + 4, "ftyp", 4) == 0;
}

/// Content of moov; empty if there is none, or if the file is fragmented.
std::string read_index(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code code;
  const uint64_t size = std::filesystem::file_size(path, code);
  std::string index;
  if (code || !is_mp4(file)) {
    return index;
  }
  for_each_top_box(file, size, [&](std::string_view type, uint64_t place, uint64_t length, uint64_t end) {
    if (end > size || end < place || type == "moof") {
      index.clear();
      return false;
    }
    if (type == "moov" && length <= kMaxIndexBytes) {
      index.resize(length);
      file.clear();
      file.seekg(static_cast<std::streamoff>(place));
      file.read(index.data(), static_cast<std::streamsize>(length));
    }
    return true;
  });
  return index;
}

/// mdia of the first track whose handler is "vide", and its edit list.
struct Track {
  std::string_view media, edits;
};
std::optional<Track> video_track(std::string_view index) {
  for (size_t i = 0; const auto track = find_box(index, "trak", i); ++i) {
    const auto media = find_box(*track, "mdia");
    const auto handler = media ? find_box(*media, "hdlr") : std::nullopt;
    if (handler && handler->size() >= 12 && handler->substr(8, 4) == "vide") {
      return Track{*media, find_path(*track, {"edts", "elst"}).value_or(std::string_view())};
    }
  }
  return std::nullopt;
}

int64_t read_timescale(std::string_view mdhd) {
  Bytes bytes(mdhd);
  const bool is_long = bytes.number(1) == 1;
  bytes.skip(3 + (is_long ? 16 : 8));
  return bytes.u32();
}

/// Runs of (count, value) into `out`, `samples` of them; false if the table does not give exactly so many.
template <typename Put>
bool read_runs(std::string_view box, uint64_t samples, const Put& put) {
  Bytes bytes(box);
  bytes.skip(4);
  const uint32_t entries = bytes.u32();
  uint64_t total = 0;
  for (uint32_t i = 0; i < entries; ++i) {
    const uint32_t count = bytes.u32(), value = bytes.u32();
    if (bytes.is_short() || count > samples - total) {
      return false;
    }
    for (uint32_t k = 0; k < count; ++k) {
      put(total + k, value);
    }
    total += count;
  }
  return total == samples;
}

bool read_keys(std::string_view table, std::vector<bool>& is_key) {
  const auto stss = find_box(table, "stss");
  if (!stss) {
    is_key.assign(is_key.size(), true);  // without the table every picture is one
    return true;
  }
  Bytes bytes(*stss);
  bytes.skip(4);
  for (uint32_t left = bytes.u32(); left > 0; --left) {
    const uint32_t number = bytes.u32();
    if (bytes.is_short() || number < 1 || number > is_key.size()) {
      return false;
    }
    is_key[number - 1] = true;
  }
  return true;
}

/// Presentation time that becomes 0; nothing for lists that do more than that.
std::optional<int64_t> edit_start(std::string_view elst) {
  if (elst.empty()) {
    return 0;
  }
  Bytes bytes(elst);
  const bool is_long = bytes.number(1) == 1;
  bytes.skip(3);
  if (bytes.u32() != 1) {
    return std::nullopt;
  }
  bytes.skip(is_long ? 8 : 4);
  const auto start = is_long ? static_cast<int64_t>(bytes.number(8)) : static_cast<int32_t>(bytes.u32());
  return bytes.is_short() || start < 0 ? std::nullopt : std::optional<int64_t>(start);
}

}  // namespace

std::optional<Mp4Samples> read_mp4_samples(const std::string& path) {
  const std::string index = read_index(path);
  const auto track = video_track(index);
  const auto mdhd = track ? find_box(track->media, "mdhd") : std::nullopt;
  const auto table = track ? find_path(track->media, {"minf", "stbl"}) : std::nullopt;
  const auto sizes = table ? find_box(*table, "stsz") : std::nullopt;
  const auto times = table ? find_box(*table, "stts") : std::nullopt;
  const auto start = track ? edit_start(track->edits) : std::nullopt;
  if (!mdhd || !sizes || !times || !start) {
    return std::nullopt;
  }
  Bytes size_bytes(*sizes);
  size_bytes.skip(4);
  const bool has_table =
      size_bytes.u32() == 0;  // of sizes; of equal ones there is none, which no codec of video writes
  const uint64_t samples = size_bytes.u32();
  Mp4Samples result;
  result.timescale = read_timescale(*mdhd);
  if (!has_table || samples == 0 || samples > kMaxSamples || samples > size_bytes.left() / 4 || result.timescale <= 0) {
    return std::nullopt;
  }
  result.pts.resize(samples);
  result.is_key.resize(samples);
  int64_t dts = -*start;
  const bool has_times = read_runs(*times, samples, [&](uint64_t i, uint32_t delta) {
    result.pts[i] = dts;
    dts += delta;
  });
  const auto offsets = find_box(*table, "ctts");
  const bool has_offsets = !offsets || read_runs(*offsets, samples, [&](uint64_t i, uint32_t offset) {
    result.pts[i] += static_cast<int32_t>(offset);  // version 0 calls it unsigned; writers put negative ones there too
  });
  if (!has_times || !has_offsets || !read_keys(*table, result.is_key)) {
    return std::nullopt;
  }
  return result;
}

uint64_t mp4_missing_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code code;
  const uint64_t size = std::filesystem::file_size(path, code);
  if (code || !is_mp4(file)) {
    return 0;
  }
  uint64_t missing = 0;
  for_each_top_box(file, size, [&](std::string_view, uint64_t, uint64_t, uint64_t end) {
    missing = end > size ? end - size : 0;
    return missing == 0;
  });
  return missing;
}

}  // namespace flexor::media
