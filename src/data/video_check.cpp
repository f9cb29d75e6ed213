#include "data/video_check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset.h"
#include "media/mp4_samples.h"
#include "media/video_index.h"

namespace flexor::data {
namespace {

std::string join_shape(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) {
    sizes.push_back(str_cat(size));
  }
  return join_text(sizes, "x");
}

/// The parts of a finding that differ from check to check.
struct Values {
  std::string expected, found;
  std::optional<int64_t> episode = {}, frame = {};
};

class VideoCheck {
 public:
  VideoCheck(const DatasetInfo& info, const VideoNeed& need, const VideoCheckOptions& options)
      : info_(info), need_(need), options_(options), path_(info.root + "/" + need.file) {}

  std::vector<Finding> run() {
    check_uses();
    try {
      if (const uint64_t missing = media::mp4_missing_bytes(path_); missing > 0) {
        add(Severity::kError, "video_truncated", str_cat("the video lacks its last ", missing, " bytes"), {},
            "copy the file again");
        return std::move(findings_);
      }
      const media::VideoIndex index = media::read_video_index(path_);
      check_stream(index.info);
      check_length(index);
      check_times(index);
      check_keys(index);
      if (options_.decode) {
        decode(index.info);
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
        throw;
      }
      add(Severity::kError, is_lfs_pointer(path_) ? "lfs_pointer" : "video_unreadable", error.what(), {}, error.hint());
    }
    return std::move(findings_);
  }

 private:
  double fps() const { return info_.fps.value(); }
  /// Number in the file of an episode's first frame.
  int64_t first_frame(const VideoUse& use) const { return static_cast<int64_t>(std::nearbyint(use.from_s * fps())); }
  int64_t end_frame() const {
    int64_t end = 0;
    for (const VideoUse& use : need_.uses) {
      end = std::max(end, first_frame(use) + use.length);
    }
    return end;
  }

  /// What the metadata say about the episodes in the file, before it is opened.
  void check_uses() {
    std::vector<const VideoUse*> uses;
    for (const VideoUse& use : need_.uses) {
      uses.push_back(&use);
      const double off_s = std::abs(use.from_s - static_cast<double>(first_frame(use)) / fps());
      if (off_s > kToleranceS) {
        add(Severity::kError, "video_off_grid", "from_timestamp of the episode",
            {"a multiple of 1/fps", str_cat(use.from_s, " s, ", short_number(off_s), " s beside one"),
             use.episode_index});
      }
      check_range(use);
    }
    std::sort(uses.begin(), uses.end(), [](const VideoUse* a, const VideoUse* b) { return a->from_s < b->from_s; });
    for (size_t i = 1; i < uses.size(); ++i) {
      const int64_t end = first_frame(*uses[i - 1]) + uses[i - 1]->length;
      if (first_frame(*uses[i]) < end) {
        add(Severity::kError, "video_overlap",
            str_cat("first frame in the video, which episode ", uses[i - 1]->episode_index, " also claims"),
            {str_cat("frame ", end, " or later"), str_cat(first_frame(*uses[i])), uses[i]->episode_index});
      }
    }
  }

  void check_range(const VideoUse& use) {
    if (use.to_s == 0) {
      return;
    }
    const double frames = (use.to_s - use.from_s) * fps();
    const auto length = static_cast<double>(use.length);
    constexpr double kHalf = 0.5;
    if (!(std::abs(frames - length) < kHalf)) {
      const bool lacks_some = !(frames > length);
      add(lacks_some ? Severity::kError : Severity::kWarning, "video_range",
          "from_timestamp to to_timestamp of the episode",
          {str_cat(use.length, " frames"), short_number(frames, 6), use.episode_index});
    }
  }

  void check_stream(const media::VideoInfo& video) {
    constexpr double kRelativeFps = 1e-3;
    if (std::abs(video.fps.value() / fps() - 1) > kRelativeFps) {
      add(Severity::kError, "video_fps", "frames per second of the video",
          {short_number(fps(), 6), short_number(video.fps.value(), 6)});
    }
    const std::vector<int64_t>& shape = need_.camera->shape;
    const auto has = [&](int64_t size) { return std::find(shape.begin(), shape.end(), size) != shape.end(); };
    if (!shape.empty() && (!has(video.height) || !has(video.width))) {
      add(Severity::kError, "video_size", "height and width of the video",
          {join_shape(shape), str_cat(video.height, "x", video.width)});
    }
    check_format("video.codec", video.codec, Severity::kError);
    check_format("video.pix_fmt", video.pix_fmt, Severity::kWarning);  // often unknown until a picture is decoded
  }

  void check_format(const std::string& key, const std::string& found, Severity severity) {
    const Json* said = need_.camera->info.find(key);
    if (said && said->is_string() && !found.empty() && said->as_string() != found) {
      add(severity, "video_format", str_cat(key, " of the video"), {said->as_string(), found});
    }
  }

  void check_length(const media::VideoIndex& index) {
    const auto frames = static_cast<int64_t>(index.pts.size());
    for (const VideoUse& use : need_.uses) {
      if (first_frame(use) + use.length > frames) {
        add(Severity::kError, "video_too_short", "length of the video",
            {str_cat(first_frame(use) + use.length, " frames"), str_cat(frames), use.episode_index,
             std::max<int64_t>(0, frames - first_frame(use))});
      }
    }
    if (frames > end_frame() && options_.is_whole) {
      add(Severity::kWarning, "video_too_long", "length of the video",
          {str_cat(end_frame(), " frames"), str_cat(frames)});
    }
  }

  /// Picture k is shown at k / fps. One finding for the first that is not.
  void check_times(const media::VideoIndex& index) {
    const double tick_s = index.info.time_base.value();
    const double tolerance_s = std::max(kToleranceS, tick_s / 2);
    const auto end = std::min(static_cast<int64_t>(index.pts.size()), end_frame());
    for (int64_t k = 0; k < end; ++k) {
      const double found = static_cast<double>(index.pts[static_cast<size_t>(k)]) * tick_s;
      const double expected = static_cast<double>(k) / index.info.fps.value();
      if (!(std::abs(found - expected) <= tolerance_s)) {
        const VideoUse* use = use_of(k);
        add(Severity::kError, "video_timestamps",
            str_cat("time (s) of picture ", k,
                    " of the video; pictures must follow each other at a constant rate from 0"),
            {short_number(expected, 9), short_number(found, 9), use ? std::optional(use->episode_index) : std::nullopt,
             use ? std::optional(k - first_frame(*use)) : std::nullopt},
            "encode the video again at a constant rate");
        return;
      }
    }
  }

  void check_keys(const media::VideoIndex& index) {
    for (const VideoUse& use : need_.uses) {
      const auto first = static_cast<size_t>(std::max<int64_t>(0, first_frame(use)));
      if (first < index.is_key.size() && !index.is_key[first]) {
        add(Severity::kWarning, "video_key_frame",
            "the episode does not start on a key frame; its first pictures cost more, and it cannot be cut out without "
            "encoding again",
            {{}, {}, use.episode_index, 0});
      }
    }
  }

  const VideoUse* use_of(int64_t frame) const {
    for (const VideoUse& use : need_.uses) {
      if (frame >= first_frame(use) && frame < first_frame(use) + use.length) {
        return &use;
      }
    }
    return nullptr;
  }

  /// Every picture of every episode; the first damaged one of an episode is named, the others are counted.
  void decode(const media::VideoInfo& video) {
    const auto reader = media::VideoReader::open(path_);
    for (const VideoUse& use : need_.uses) {
      const int64_t first = first_frame(use), count = std::min(use.length, video.num_frames - first);
      std::optional<Finding> problem;
      int64_t damaged = 0;
      for (int64_t k = 0; k < count; ++k) {
        check_interrupt();
        try {
          reader->check_frame(first + k);
        } catch (const Error& error) {
          if (damaged++ == 0) {
            add(Severity::kError, "video_damaged", error.what(), {{}, {}, use.episode_index, k}, error.hint());
            problem = std::move(findings_.back());
            findings_.pop_back();
          }
        }
      }
      if (problem) {
        problem->message += damaged > 1 ? str_cat(", and ", damaged - 1, " more of the episode") : "";
        findings_.push_back(std::move(*problem));
      }
    }
    if (video.pix_fmt.empty()) {
      check_format("video.pix_fmt", reader->info().pix_fmt, Severity::kWarning);
    }
  }

  void add(Severity severity, const std::string& code, const std::string& message, const Values& values = {},
           const std::string& hint = {}) {
    findings_.push_back({.code = code,
                         .severity = severity,
                         .file = need_.file,
                         .episode = values.episode ? values.episode : only_episode(),
                         .frame = values.frame,
                         .feature = need_.camera->recorded_name,
                         .expected = values.expected,
                         .found = values.found,
                         .message = message,
                         .hint = hint});
  }

  /// What is wrong with a whole file is the episode's where it holds one only.
  std::optional<int64_t> only_episode() const {
    return need_.uses.size() == 1 ? std::optional(need_.uses[0].episode_index) : std::nullopt;
  }

  const DatasetInfo& info_;
  const VideoNeed& need_;
  const VideoCheckOptions& options_;
  const std::string path_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_video(const DatasetInfo& info, const VideoNeed& need, const VideoCheckOptions& options) {
  return VideoCheck(info, need, options).run();
}

}  // namespace flexor::data
