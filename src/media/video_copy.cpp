#include "media/video_copy.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mathematics.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "media/mp4_muxer.h"
#include "media/packet_reader.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

constexpr double kToleranceS = 1e-4;  ///< of a frame's time, as readers allow it
constexpr const char* kUnevenHint = "record or download the file again, or leave the episode out";

/// Text of the first fact in which the streams differ; empty if their packets can share a file.
std::string difference(const VideoFile& a, const VideoFile& b) {
  const AVCodecParameters &p = a.parameters(), &q = b.parameters();
  const VideoInfo &i = a.info(), &j = b.info();
  const auto fraction = [](const Rational& r) { return str_cat(r.num, "/", r.den); };
  if (p.codec_id != q.codec_id) {
    return str_cat("codec ", j.codec, " instead of ", i.codec);
  }
  if (p.width != q.width || p.height != q.height) {
    return str_cat("size ", q.width, "x", q.height, " instead of ", p.width, "x", p.height);
  }
  if (p.format != q.format && p.format >= 0 && q.format >= 0) {
    return str_cat("pixel format ", j.pix_fmt, " instead of ", i.pix_fmt);
  }
  if (!(i.fps == j.fps)) {
    return str_cat(fraction(j.fps), " frames per second instead of ", fraction(i.fps));
  }
  if (!(i.time_base == j.time_base)) {
    return str_cat("time base ", fraction(j.time_base), " instead of ", fraction(i.time_base));
  }
  const bool same_header = p.extradata_size == q.extradata_size && p.codec_tag == q.codec_tag &&
                           std::memcmp(p.extradata, q.extradata, static_cast<size_t>(p.extradata_size)) == 0;
  return same_header ? "" : "another codec header (encoder settings or version)";
}

/// Where the frames of a part come from, and which have come.
struct PartProgress {
  const VideoPart& part;
  int64_t base = 0;  ///< number of the part's first frame in the output
  std::vector<bool> seen = {};
  int64_t count = 0;
};

}  // namespace

struct VideoCopier::State {
  std::shared_ptr<VideoFile> input;
  std::unique_ptr<PacketReader> packets;  ///< of `input`
  int64_t next_frame = -1;                ///< of `input`: the frame after what was read; -1: unknown
  AvPtr<AVPacket> packet = make_packet();
  std::optional<CopyObstacle> obstacle;

  void open(const std::string& path) {
    if (!input || input->path() != path) {
      packets.reset();
      input = std::make_shared<VideoFile>(path);
      packets = std::make_unique<PacketReader>(*input);
      next_frame = -1;
    }
  }

  void stop(std::string what, int64_t frame) {
    obstacle = {std::move(what), str_cat(input->path(), ", frame ", frame)};
  }

  /// Number of the frame that `packet` shows. @throws Error(kData) if it is not where a frame belongs
  int64_t frame_of_packet() const {
    const VideoInfo& info = input->info();
    const int64_t pts = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    const AVRational frame_time{static_cast<int>(info.fps.den), static_cast<int>(info.fps.num)};
    const int64_t frame = av_rescale_q(pts - info.start_pts, to_av(info.time_base), frame_time);
    const auto allowed = std::max<int64_t>(1, std::llround(kToleranceS / info.time_base.value()));
    if (std::abs(pts - input->pts_of(frame)) > allowed) {
      throw Error(ErrorKind::kData,
                  str_cat("a picture at ", input->seconds(pts), " s, between frames ", frame, " (",
                          input->seconds(input->pts_of(frame)), " s) and its neighbour: unevenly spaced"),
                  input->path(), kUnevenHint);
    }
    return frame;
  }

  /// The first packet of a part lies in `packet`: must be a key frame and show the part's first frame.
  bool starts_at(const VideoPart& part) {
    if (next_frame != part.first_frame) {
      packets->seek(input->pts_of(part.first_frame));
    }
    if (!packets->next(*packet)) {
      throw_too_short(part, 0);
    }
    if (frame_of_packet() != part.first_frame || (packet->flags & AV_PKT_FLAG_KEY) == 0) {
      stop("no key frame where the episode begins", part.first_frame);
      return false;
    }
    return true;
  }

  [[noreturn]] void throw_too_short(const VideoPart& part, int64_t found) const {
    throw Error(ErrorKind::kData,
                str_cat("video has ", found, " frames from frame ", part.first_frame, " on, expected ",
                        part.num_frames < 0 ? 1 : part.num_frames),
                input->path(), kUnevenHint);
  }

  /// Notes that `frame` came. False (obstacle) if it does not belong to the part.
  bool note(PartProgress& progress, int64_t frame) {
    const VideoPart& part = progress.part;
    const int64_t place = frame - part.first_frame;
    if (place < 0 || (part.num_frames >= 0 && place >= part.num_frames)) {
      stop("pictures of two episodes are mixed (B-frames across the cut)", frame);
      return false;
    }
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) {
      stop("the file hides pictures with an edit list", frame);
      return false;
    }
    if (static_cast<size_t>(place) >= progress.seen.size()) {
      progress.seen.resize(static_cast<size_t>(place) + 1);
    }
    if (progress.seen[static_cast<size_t>(place)]) {
      throw Error(ErrorKind::kData, str_cat("two pictures are shown as frame ", frame), input->path(), kUnevenHint);
    }
    progress.seen[static_cast<size_t>(place)] = true;
    ++progress.count;
    return true;
  }

  bool copy_part(PartProgress& progress, Mp4Muxer& muxer) {
    const VideoPart& part = progress.part;
    if (!starts_at(part)) {
      return false;
    }
    do {
      check_interrupt();
      const int64_t frame = frame_of_packet();
      if (!note(progress, frame)) {
        return false;
      }
      if (!muxer.write(*packet, progress.base + frame - part.first_frame)) {
        stop("decoding order does not continue across files", frame);
        return false;
      }
    } while (progress.count != part.num_frames && packets->next(*packet));
    next_frame = part.first_frame + progress.count;
    if (progress.count < std::max(part.num_frames, static_cast<int64_t>(progress.seen.size()))) {
      const auto gap = std::find(progress.seen.begin(), progress.seen.end(), false);
      if (gap != progress.seen.end()) {
        throw Error(ErrorKind::kData,
                    str_cat("no picture for frame ", part.first_frame + (gap - progress.seen.begin())), input->path(),
                    kUnevenHint);
      }
      throw_too_short(part, progress.count);
    }
    return true;
  }

  bool copy_parts(const std::vector<VideoPart>& parts, Mp4Muxer& muxer, const VideoFile& first, CopyResult& result) {
    int64_t base = 0;
    for (const VideoPart& part : parts) {
      open(part.path);
      if (const std::string differs = difference(first, *input); !differs.empty()) {
        obstacle = {str_cat("the videos differ: ", differs), str_cat(part.path, " beside ", first.path())};
        return false;
      }
      PartProgress progress{part, base};
      if (!copy_part(progress, muxer)) {
        return false;
      }
      base += progress.count;
      result.num_frames.push_back(progress.count);
    }
    return true;
  }

  /// @returns false when the index did not fit into `reserved_bytes`
  bool attempt(const std::vector<VideoPart>& parts, const std::string& path, int64_t reserved_frames,
               CopyResult& result) {
    open(parts.at(0).path);
    const std::shared_ptr<const VideoFile> first = input;  // which moves on to the other parts
    Mp4Muxer muxer(path, *first, reserved_frames, static_cast<int64_t>(parts.size()));
    result = {};
    if (copy_parts(parts, muxer, *first, result)) {
      return muxer.finish();
    }
    result.obstacle = std::exchange(obstacle, std::nullopt);
    next_frame = -1;
    return true;
  }
};

VideoCopier::VideoCopier() : state_(std::make_unique<State>()) {}
VideoCopier::~VideoCopier() = default;

CopyResult VideoCopier::copy(const std::vector<VideoPart>& parts, const std::string& path) {
  int64_t frames = 0;
  for (const VideoPart& part : parts) {
    frames += part.num_frames >= 0 ? part.num_frames : part.expected_frames;
  }
  CopyResult result;
  if (!state_->attempt(parts, path, frames, result)) {
    state_->next_frame = -1;
    state_->attempt(parts, path, /*reserved_frames=*/-1, result);
  }
  return result;
}

}  // namespace flexor::media
