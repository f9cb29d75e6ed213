#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "media/picture.h"

namespace flexor::data {

/// What a frame cache says about itself; the JSON part of its file.
struct FrameCacheHeader {
  /// A file that pictures were decoded from. Times change when a dataset is copied, contents do not: `hash` decides.
  struct Source {
    std::string path;  ///< relative to the dataset's root
    int64_t size = 0;
    int64_t mtime_ns = 0;
    uint64_t hash = 0;
  };
  struct Episode {
    int64_t episode_index = 0, length = 0;
    int64_t first_frame = 0;            ///< in the cache
    std::vector<int64_t> sources;       ///< per camera: index into `sources`
    std::vector<uint64_t> frames_hash;  ///< per camera: which frames of the source these are (see frame_cache_key.h)
  };

  bool is_jpeg = false;  ///< else raw: the bytes of the loader's uint8 pictures
  int64_t height = 0, width = 0;
  int64_t quality = 0;               ///< of the JPEG pictures, 1..100
  Json jpeg_error;                   ///< {psnr_db, mean_abs, max_abs, pictures} against the raw pictures; null for raw
  std::string dataset;               ///< root when it was made, for messages only
  std::string decoder;               ///< versions of FFmpeg's libraries, for messages only
  std::vector<std::string> cameras;  ///< recorded names
  std::vector<Source> sources;
  std::vector<Episode> episodes;  ///< ascending episode_index
  int64_t num_frames = 0;

  int64_t num_pictures() const { return num_frames * static_cast<int64_t>(cameras.size()); }
  /// Bytes of a raw picture, planar [3, height, width].
  int64_t picture_bytes() const { return 3 * height * width; }
  /// Number of a picture: the cameras of one frame lie side by side.
  int64_t picture_number(int64_t frame, int64_t camera) const {
    return frame * static_cast<int64_t>(cameras.size()) + camera;
  }
  std::string format_name() const { return is_jpeg ? "jpeg" : "raw"; }
  std::string size_name() const;  ///< "224x224": height x width
};

/// Place of an encoded picture in the file.
struct FrameCacheSlot {
  uint64_t offset = 0, size = 0;
};

/// Decoded and resized pictures of a dataset in one memory-mapped file. What is in the file is checked when it is
/// opened, whether it still belongs to a dataset is not (see frame_cache_key.h). Thread-safe.
class FrameCache {
 public:
  /// @throws Error(kFile); Error(kData) if the file is no frame cache, cut, garbled or of another version
  static std::shared_ptr<const FrameCache> open(const std::string& path);

  const std::string& path() const { return path_; }
  const FrameCacheHeader& header() const { return header_; }
  const FrameCacheHeader::Episode* find(int64_t episode_index) const;  ///< null: not in the cache
  int64_t camera_index(std::string_view recorded_name) const;          ///< -1: not in the cache

  /// One picture, planar.
  /// @param number   header().picture_number()
  /// @param scratch  for decoding, one per thread
  /// @param out      [3, height, width]
  /// @throws Error(kData) for a damaged JPEG picture
  void read(int64_t number, media::Picture& scratch, std::span<uint8_t> out) const;
  /// Asks for the bytes of a picture that is read soon.
  void prefetch(int64_t number) const;

  /// After the contents of `sources` were found unchanged: notes their times of today, so that the next check need not
  /// read them. Does nothing where the file cannot be written.
  void store_times(const std::vector<std::pair<size_t, int64_t>>& mtimes_ns) const;

 private:
  FrameCache(std::string path, std::shared_ptr<MappedFile> file) : path_(std::move(path)), file_(std::move(file)) {}
  void parse();
  std::span<const uint8_t> bytes(int64_t number) const;

  std::string path_;
  std::shared_ptr<MappedFile> file_;
  FrameCacheHeader header_;
  std::span<const FrameCacheSlot> slots_;  ///< of JPEG pictures
  int64_t times_offset_ = 0;
};

/// The first bytes of the file. Then come the pictures (from kFrameCacheData on), at the end the header as JSON, the
/// modification times of the sources [int64] and, for JPEG, the slots.
struct FrameCachePreamble {
  char magic[8] = {'F', 'X', 'F', 'R', 'A', 'M', 'E', 'S'};
  uint32_t version = 1;
  uint32_t byte_order = 0x01020304;
  uint64_t file_size = 0;
  uint64_t json_offset = 0, json_size = 0;
  uint64_t times_offset = 0, slots_offset = 0;
  uint64_t hash = 0;  ///< of this preamble with hash 0, the JSON and the slots
};
inline constexpr int64_t kFrameCacheData = 4096;

Json to_json(const FrameCacheHeader& header);
/// @throws Error(kData) without a place
FrameCacheHeader frame_cache_header_from_json(const Json& json);

}  // namespace flexor::data
