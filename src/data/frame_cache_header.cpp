#include <charconv>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/frame_cache.h"

namespace flexor::data {
namespace {

// JSON numbers are signed; a hash is written as 16 hexadecimal digits.
std::string hex(uint64_t value) {
  constexpr int kDigits = 16;
  constexpr std::string_view kAlphabet = "0123456789abcdef";
  std::string text(kDigits, '0');
  for (int i = kDigits - 1; i >= 0; --i, value >>= 4U) {
    text[static_cast<size_t>(i)] = kAlphabet[value & 15U];
  }
  return text;
}

uint64_t from_hex(const std::string& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorKind::kData, str_cat("expected a hexadecimal number, found '", text, "'"));
  }
  return value;
}

int64_t positive(const Json& json, std::string_view key, int64_t most) {
  const int64_t value = json.at(key).as_int();
  if (value < 1 || value > most) {
    throw Error(ErrorKind::kData, str_cat("expected ", key, " between 1 and ", most, ", found ", value));
  }
  return value;
}

FrameCacheHeader::Episode episode_from_json(const Json& json, const FrameCacheHeader& header) {
  FrameCacheHeader::Episode episode;
  episode.episode_index = json.at("episode_index").as_int();
  episode.length = json.at("length").as_int();
  episode.first_frame = header.num_frames;
  for (const Json& source : json.at("sources").as_array()) {
    episode.sources.push_back(source.as_int());
  }
  for (const Json& hash : json.at("frames").as_array()) {
    episode.frames_hash.push_back(from_hex(hash.as_string()));
  }
  bool is_good = episode.length >= 0 && episode.sources.size() == header.cameras.size() &&
                 episode.frames_hash.size() == header.cameras.size() &&
                 (header.episodes.empty() || header.episodes.back().episode_index < episode.episode_index);
  for (const int64_t source : episode.sources) {
    is_good = is_good && source >= 0 && source < static_cast<int64_t>(header.sources.size());
  }
  if (!is_good) {
    throw Error(ErrorKind::kData, str_cat("entry of episode ", episode.episode_index, " contradicts the rest"));
  }
  return episode;
}

}  // namespace

std::string FrameCacheHeader::size_name() const {
  return str_cat(height, "x", width);
}

Json to_json(const FrameCacheHeader& header) {
  Json sources = Json::array(), episodes = Json::array();
  for (const FrameCacheHeader::Source& source : header.sources) {
    sources.push_back(Json::object({{"path", source.path}, {"size", source.size}, {"hash", hex(source.hash)}}));
  }
  for (const FrameCacheHeader::Episode& episode : header.episodes) {
    Json frames = Json::array();
    for (const uint64_t hash : episode.frames_hash) {
      frames.push_back(hex(hash));
    }
    episodes.push_back(Json::object({{"episode_index", episode.episode_index},
                                     {"length", episode.length},
                                     {"sources", Json(episode.sources)},
                                     {"frames", frames}}));
  }
  return Json::object({{"format", header.format_name()},
                       {"height", header.height},
                       {"width", header.width},
                       {"transform", "resize_with_pad, uint8"},
                       {"quality", header.is_jpeg ? Json(header.quality) : Json()},
                       {"jpeg_error", header.jpeg_error},
                       {"dataset", header.dataset},
                       {"decoder", header.decoder},
                       {"cameras", Json(header.cameras)},
                       {"sources", sources},
                       {"episodes", episodes}});
}

FrameCacheHeader frame_cache_header_from_json(const Json& json) {
  constexpr int64_t kMaxSide = 16384, kMaxFrames = int64_t{1} << 40;
  FrameCacheHeader header;
  header.is_jpeg = json.at("format").as_string() == "jpeg";
  header.height = positive(json, "height", kMaxSide);
  header.width = positive(json, "width", kMaxSide);
  header.quality = header.is_jpeg ? positive(json, "quality", 100) : 0;
  header.jpeg_error = json.at("jpeg_error");
  header.dataset = json.at("dataset").as_string();
  header.decoder = json.at("decoder").as_string();
  header.cameras = json.at("cameras").as_strings();
  for (const Json& source : json.at("sources").as_array()) {
    header.sources.push_back({.path = source.at("path").as_string(),
                              .size = source.at("size").as_int(),
                              .hash = from_hex(source.at("hash").as_string())});
  }
  for (const Json& entry : json.at("episodes").as_array()) {
    header.episodes.push_back(episode_from_json(entry, header));
    header.num_frames += header.episodes.back().length;
    if (header.num_frames > kMaxFrames) {
      throw Error(ErrorKind::kData, "more frames than a file can hold");
    }
  }
  return header;
}

}  // namespace flexor::data
