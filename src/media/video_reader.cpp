#include "media/video_reader.h"

extern "C" {
#include <libavcodec/packet.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/video_decoder.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

// Up to this many packets from the key frame to the wanted one, the decoder is drained to get the picture at once, and
// starts anew for the next; behind a longer run the decoder goes on, since the next picture may lie in the same GOP.
constexpr int kShortRun = 8;
constexpr int64_t kNoPts = std::numeric_limits<int64_t>::min();

std::string in_seconds(double value) {
  std::ostringstream out;
  out << std::setprecision(9) << value << " s";
  return std::move(out).str();
}

// Python's round(): half to even.
int64_t round_half_even(double x) {
  return static_cast<int64_t>(std::nearbyint(x));
}

}  // namespace

struct VideoReader::State {
  State(const std::string& path, DecoderPool& decoders)
      : file(path), decoder(decoders.get(file)), info(file.info()), packet(make_packet()) {}

  VideoFile file;
  std::shared_ptr<VideoDecoder> decoder;
  VideoInfo info;
  AvPtr<AVPacket> packet;
  bool drained = true;        // the decoder got the end-of-input mark, or nothing at all
  int64_t last_frame = -2;    // number of the picture read last
  int64_t last_pts = kNoPts;  // of the picture that the decoder gave last
  int64_t last_dts = kNoPts;  // of the packet that it got last
  int run = 0;                // packets since the key frame
  int64_t nearest = kNoPts;   // timestamp closest to the wanted one, for messages
  int64_t num_decoded = 0;

  [[noreturn]] void damaged(int64_t frame, const std::string& why) {
    drained = true;
    throw Error(ErrorKind::kData, str_cat("picture cannot be decoded: ", why), str_cat(file.path(), ", frame ", frame),
                "record or download the file again, or leave the episode out (dataset.episodes)");
  }

  bool can_go_on(int64_t pts) const {
    return decoder->owned_by(this) && !drained && last_pts != kNoPts && last_pts < pts &&
           !file.has_key_between(last_dts, pts);
  }

  void start_at(int64_t pts) {
    file.seek(pts);
    decoder->take(this);
    drained = false;
    last_pts = last_dts = kNoPts;
    run = 0;
  }

  void drain() {
    decoder->send(nullptr);
    drained = true;
  }

  // Feeds one packet; drains instead when the file ends. True if it holds the picture at `pts`.
  bool feed(int64_t frame, int64_t pts) {
    if (!file.next(*packet)) {
      drain();
      return false;
    }
    const int64_t shown = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    const bool wanted = shown != AV_NOPTS_VALUE && std::abs(shown - pts) <= file.slack();
    last_dts = packet->dts != AV_NOPTS_VALUE ? packet->dts : shown;
    // What is shown before the wanted picture is only decoded for those that refer to it.
    decoder->skip_unreferenced(shown != AV_NOPTS_VALUE && shown < pts - file.slack());
    const bool corrupt = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    const int rc = corrupt ? AVERROR_INVALIDDATA : decoder->send(packet.get());
    av_packet_unref(packet.get());
    ++run;
    if (rc < 0 && rc != AVERROR(EAGAIN)) {
      damaged(frame, av_error_text(rc));
    }
    return wanted;
  }

  // Leaves the picture at `pts` in the decoder; false if the file shows none there.
  bool decode_to(int64_t frame, int64_t pts, bool sequential) {
    if (!can_go_on(pts)) {
      start_at(pts);
    }
    nearest = kNoPts;
    while (true) {
      const auto status = decoder->receive();
      if (status == VideoDecoder::Status::kFrame) {
        ++num_decoded;
        last_pts = decoder->pts();
        if (nearest == kNoPts || std::abs(last_pts - pts) < std::abs(nearest - pts)) {
          nearest = last_pts;
        }
        if (last_pts >= pts - file.slack()) {
          return last_pts <= pts + file.slack();
        }
      } else if (status == VideoDecoder::Status::kEnd) {
        return false;
      } else if (status == VideoDecoder::Status::kError) {
        damaged(frame, av_error_text(decoder->last_error()));
      } else if (feed(frame, pts) && !sequential && run <= kShortRun) {
        drain();
      }
    }
  }

  // Leaves picture number `frame` in the decoder.
  void decode(int64_t frame) {
    const int64_t pts = file.pts_of(frame);
    if (frame < 0 || frame >= info.num_frames) {
      throw Error(ErrorKind::kData, str_cat("frame ", frame, " of a video with ", info.num_frames, " frames"),
                  file.path(), "the video is shorter than the table says: record it again or leave the episode out");
    }
    if (!decode_to(frame, pts, frame == last_frame + 1)) {
      const std::string found = nearest == kNoPts ? "none" : in_seconds(file.seconds(nearest));
      drained = true;
      throw Error(ErrorKind::kData, str_cat("no picture at ", in_seconds(file.seconds(pts)), ", nearest is ", found),
                  str_cat(file.path(), ", frame ", frame),
                  "timestamps of this video are irregular or pictures are missing: encode it again at a constant rate");
    }
    if (decoder->frame().decode_error_flags != 0 || (decoder->frame().flags & AV_FRAME_FLAG_CORRUPT) != 0) {
      damaged(frame, "its data are damaged");
    }
    last_frame = frame;
    if (info.pix_fmt.empty()) {
      const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(decoder->frame().format));
      info.pix_fmt = name ? name : "unknown";
    }
  }
};

VideoReader::VideoReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
VideoReader::~VideoReader() = default;

std::unique_ptr<VideoReader> VideoReader::open(const std::string& path, DecoderPool* decoders) {
  DecoderPool own;
  return std::unique_ptr<VideoReader>(new VideoReader(std::make_unique<State>(path, decoders ? *decoders : own)));
}

const std::string& VideoReader::path() const {
  return state_->file.path();
}
const VideoInfo& VideoReader::info() const {
  return state_->info;
}
int64_t VideoReader::num_decoded() const {
  return state_->num_decoded;
}

void VideoReader::read_frame(int64_t frame, Picture& out) {
  state_->decode(frame);
  state_->decoder->to_rgb(out);
}

void VideoReader::check_frame(int64_t frame) {
  state_->decode(frame);
}

void VideoReader::read_at(double query_s, double tolerance_s, Picture& out) {
  State& s = *state_;
  if (!std::isfinite(query_s)) {
    throw Error(ErrorKind::kData, str_cat("query time ", query_s, " is not a number"), path());
  }
  const int64_t frame = round_half_even((query_s - s.file.seconds(s.info.start_pts)) * s.info.fps.value());
  s.decode(frame);
  const double found_s = s.file.seconds(s.last_pts);
  if (!(std::abs(found_s - query_s) <= tolerance_s)) {
    throw Error(ErrorKind::kData,
                str_cat("query time ", in_seconds(query_s), " meets no picture: the nearest is frame ", frame, " at ",
                        in_seconds(found_s), ", tolerance ", in_seconds(tolerance_s)),
                path(), "timestamps of table and video disagree: check fps, or the episode's video offset");
  }
  s.decoder->to_rgb(out);
}

VideoInfo probe_video(const std::string& path) {
  const auto reader = VideoReader::open(path);
  Picture picture;
  reader->read_frame(0, picture);
  return reader->info();
}

}  // namespace flexor::media
