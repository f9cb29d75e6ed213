#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "data/dataset_check.h"
#include "media/image_codec.h"
#include "media/video_reader.h"

namespace flexor::data {
namespace {

/// What the tables need of one video file.
struct VideoNeed {
  const FeatureInfo* camera = nullptr;
  const Episode* episode = nullptr;  ///< the one that reaches furthest
  int64_t num_frames = 0;
  double off_grid_s = 0;  ///< largest distance of an episode's start from the frame grid
};

std::map<std::string, VideoNeed> collect_needs(const Dataset& dataset) {
  std::map<std::string, VideoNeed> needs;
  for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
    const Episode& episode = dataset.episode(number);
    for (size_t camera = 0; camera < episode.videos.size(); ++camera) {
      const VideoSegment& segment = episode.videos[camera];
      if (segment.path.empty() || episode.length == 0) {
        continue;
      }
      VideoNeed& need = needs[segment.path];
      const double start = segment.from_s * dataset.fps();
      const int64_t end = static_cast<int64_t>(std::nearbyint(start)) + episode.length;
      need.camera = &dataset.cameras()[camera];
      if (end > need.num_frames) {
        need.num_frames = end;
        need.episode = &episode;
      }
      need.off_grid_s = std::max(need.off_grid_s, std::abs(start - std::nearbyint(start)) / dataset.fps());
    }
  }
  return needs;
}

/// A box of an mp4 file that ends behind the file's end, if there is one: the file was cut.
/// @returns bytes that are missing
uint64_t missing_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = std::filesystem::file_size(path);
  const auto big_endian = [](const unsigned char* bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) {
      value = value << 8 | bytes[i];
    }
    return value;
  };
  for (uint64_t place = 0; place < size;) {
    std::array<unsigned char, 16> head{};
    file.seekg(static_cast<std::streamoff>(place));
    file.read(reinterpret_cast<char*>(head.data()), head.size());
    const bool is_start = place == 0;
    if (is_start && std::memcmp(head.data() + 4, "ftyp", 4) != 0) {
      return 0;  // another container
    }
    file.clear();
    uint64_t box = big_endian(head.data(), 4);
    box = box == 1 ? big_endian(head.data() + 8, 8) : box;
    if (box == 0) {
      return 0;  // to the end of the file
    }
    if (box < 8 || box > size - place) {
      return box < 8 ? 0 : box - (size - place);
    }
    place += box;
  }
  return 0;
}

class VideoCheck {
 public:
  VideoCheck(const Dataset& dataset, const std::string& path, const VideoNeed& need)
      : dataset_(dataset), path_(path), need_(need) {}

  std::vector<Finding> run() {
    try {
      if (const uint64_t missing = missing_bytes(path_); missing > 0) {
        add(Severity::kError, "video_truncated", "", "", str_cat("the video lacks its last ", missing, " bytes"),
            "copy the file again");
      } else {
        compare(media::VideoReader::open(path_)->info());
      }
    } catch (const Error& error) {
      add(Severity::kError, "video_unreadable", "", "", error.what(), error.hint());
    }
    return std::move(findings_);
  }

 private:
  void compare(const media::VideoInfo& video) {
    constexpr double kRelativeFps = 1e-3;
    if (video.num_frames > 0 && video.num_frames < need_.num_frames) {
      add(Severity::kError, "video_too_short", str_cat(need_.num_frames, " frames"), str_cat(video.num_frames),
          "length of the video");
    } else if (video.num_frames > need_.num_frames && dataset_.is_whole()) {
      add(Severity::kWarning, "video_too_long", str_cat(need_.num_frames, " frames"), str_cat(video.num_frames),
          "length of the video");
    }
    if (std::abs(video.fps.value() / dataset_.fps() - 1) > kRelativeFps) {
      add(Severity::kError, "video_fps", short_number(dataset_.fps(), 6), short_number(video.fps.value(), 6),
          "frames per second of the video");
    }
    if (need_.off_grid_s > kToleranceS) {
      add(Severity::kError, "video_off_grid", "a multiple of 1/fps", str_cat(need_.off_grid_s, " s beside one"),
          "from_timestamp of an episode");
    }
    compare_stream(video);
  }

  void compare_stream(const media::VideoInfo& video) {
    const std::vector<int64_t>& shape = need_.camera->shape;
    const auto has = [&](int64_t size) { return std::find(shape.begin(), shape.end(), size) != shape.end(); };
    if (!shape.empty() && (!has(video.height) || !has(video.width))) {
      add(Severity::kError, "video_size", join_shape(shape), str_cat(video.height, "x", video.width),
          "height and width of the video");
    }
    for (const auto& [key, found] :
         {std::pair{"video.codec", video.codec}, std::pair{"video.pix_fmt", video.pix_fmt}}) {
      const Json* said = need_.camera->info.find(key);
      if (said && said->is_string() && !found.empty() && said->as_string() != found) {
        add(Severity::kError, "video_format", said->as_string(), found, str_cat(key, " of the video"));
      }
    }
  }

  static std::string join_shape(const std::vector<int64_t>& shape) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) {
      sizes.push_back(str_cat(size));
    }
    return join_text(sizes, "x");
  }

  void add(Severity severity, const std::string& code, const std::string& expected, const std::string& found,
           const std::string& message, const std::string& hint = {}) {
    findings_.push_back({.code = code,
                         .severity = severity,
                         .file = std::filesystem::path(path_).lexically_relative(dataset_.root()).string(),
                         .episode = need_.episode->episode_index,
                         .feature = need_.camera->recorded_name,
                         .expected = expected,
                         .found = found,
                         .message = message,
                         .hint = hint});
  }

  const Dataset& dataset_;
  const std::string& path_;
  const VideoNeed& need_;
  std::vector<Finding> findings_;
};

/// The first picture of each camera that stores images in Parquet can be decoded.
void check_images(const Dataset& dataset, std::vector<Finding>& findings) {
  for (size_t camera = 0; camera < dataset.cameras().size() && dataset.num_frames() > 0; ++camera) {
    if (dataset.cameras()[camera].dtype != "image") {
      continue;
    }
    try {
      const PictureRef picture = dataset.picture(static_cast<int64_t>(camera), 0);
      media::Picture decoded;
      media::decode_image({reinterpret_cast<const uint8_t*>(picture.image->data()), picture.image->size()},
                          dataset.episode(0).data_file, decoded);
    } catch (const Error& error) {
      const Episode& episode = dataset.episode(dataset.episode_number(0));
      findings.push_back({.code = "image_unreadable",
                          .severity = Severity::kError,
                          .file = std::filesystem::path(episode.data_file).lexically_relative(dataset.root()).string(),
                          .episode = episode.episode_index,
                          .frame = 0,
                          .feature = dataset.cameras()[camera].recorded_name,
                          .message = error.what()});
    }
  }
}

}  // namespace

void check_videos(const Dataset& dataset, std::vector<Finding>& findings) {
  constexpr int kMaxThreads = 4;
  const auto needs = collect_needs(dataset);
  std::vector<const std::pair<const std::string, VideoNeed>*> files;
  for (const auto& need : needs) {
    files.push_back(&need);
  }
  std::vector<std::vector<Finding>> found(files.size());
  Progress progress("checking videos", static_cast<int64_t>(files.size()), "files");
  ThreadPool pool(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads));
  pool.parallel_for(static_cast<int64_t>(files.size()), [&](int64_t i) {
    check_interrupt();
    const auto& [path, need] = *files[static_cast<size_t>(i)];
    found[static_cast<size_t>(i)] = VideoCheck(dataset, path, need).run();
    progress.advance();
  });
  for (std::vector<Finding>& part : found) {
    std::move(part.begin(), part.end(), std::back_inserter(findings));
  }
  check_images(dataset, findings);
}

}  // namespace flexor::data
