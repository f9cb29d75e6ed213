#include "media/video_file.h"

extern "C" {
#include <libavcodec/codec_id.h>
#include <libavcodec/codec_par.h>
#include <libavcodec/packet.h>
#include <libavformat/avformat.h>
#include <libavutil/mathematics.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"

namespace flexor::media {
namespace {

constexpr const char* kDamagedHint = "record or download the file again, or leave the episode out (dataset.episodes)";

// True if the file begins like an mp4 / mov.
bool looks_like_mp4(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char head[8] = {};
  in.read(head, sizeof head);
  return in.gcount() == sizeof head && std::string_view(head + 4, 4) == "ftyp";
}

}  // namespace

AVRational to_av(const Rational& r) {
  return {static_cast<int>(r.num), static_cast<int>(r.den)};
}

VideoFile::VideoFile(std::string path) : path_(std::move(path)), pending_(make_packet()) {
  quiet_av_log();
  check_input_file(path_);
  open_container();
  read_facts();
  check_length();
  find_start();
}

const AVCodecParameters& VideoFile::parameters() const {
  return *context_->streams[stream_]->codecpar;
}

const AVStream& VideoFile::stream() const {
  return *context_->streams[stream_];
}

void VideoFile::open_container() {
  AVFormatContext* raw = nullptr;
  const bool is_mp4 = looks_like_mp4(path_);  // else FFmpeg asks each of its formats, which takes longer than opening
  int rc = avformat_open_input(&raw, path_.c_str(), is_mp4 ? av_find_input_format("mov") : nullptr, nullptr);
  if (rc < 0) {
    if (is_mp4) {
      throw Error(
          ErrorKind::kData,
          str_cat("mp4 without a readable index (moov): ", av_error_text(rc), "; it was cut short or never finished"),
          path_, kDamagedHint);
    }
    throw Error(ErrorKind::kData, str_cat("not a video file: ", av_error_text(rc)), path_, kDamagedHint);
  }
  context_.reset(raw);
  // An mp4's header says all; other containers need a look at their first packets.
  const auto first_video = [raw] { return av_find_best_stream(raw, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0); };
  stream_ = first_video();
  const auto complete = [&] {
    const AVStream& s = *raw->streams[stream_];
    return s.codecpar->codec_id != AV_CODEC_ID_NONE && s.codecpar->width > 0 &&
           (s.r_frame_rate.num > 0 || s.avg_frame_rate.num > 0) && s.nb_frames > 0;
  };
  if (stream_ < 0 || !complete()) {
    rc = avformat_find_stream_info(raw, nullptr);
    stream_ = first_video();
  }
  if (stream_ < 0) {
    throw Error(ErrorKind::kData, str_cat("no video stream among ", raw->nb_streams, " streams"), path_);
  }
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    raw->streams[i]->discard = static_cast<int>(i) == stream_ ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
}

void VideoFile::read_facts() {
  const AVStream& stream = *context_->streams[stream_];
  const AVCodecParameters& codec = *stream.codecpar;
  info_.codec = avcodec_get_name(codec.codec_id);
  if (const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(codec.format))) {
    info_.pix_fmt = name;
  }
  info_.width = codec.width;
  info_.height = codec.height;
  // The rate of a constant spacing, where the header knows one, is not bent by an odd duration of the last frame.
  const AVRational rate = stream.r_frame_rate.num > 0 ? stream.r_frame_rate : stream.avg_frame_rate;
  if (codec.width <= 0 || codec.height <= 0 || rate.num <= 0 || rate.den <= 0 || stream.time_base.num <= 0) {
    throw Error(ErrorKind::kData,
                str_cat("video header without size or frame rate (", codec.width, "x", codec.height, ", ", rate.num,
                        "/", rate.den, " fps)"),
                path_, kDamagedHint);
  }
  info_.fps = {rate.num, rate.den};
  info_.time_base = {stream.time_base.num, stream.time_base.den};
  if (stream.duration > 0) {
    info_.duration_s = static_cast<double>(stream.duration) * info_.time_base.value();
  } else if (context_->duration > 0) {
    info_.duration_s = static_cast<double>(context_->duration) / AV_TIME_BASE;
  }
  info_.num_frames = stream.nb_frames;
  if (info_.num_frames <= 0) {
    info_.num_frames = std::llround(info_.duration_s * info_.fps.value());
  }
  const double ticks_per_frame = 1.0 / (info_.fps.value() * info_.time_base.value());
  slack_ = static_cast<int64_t>(std::max(0.0, ticks_per_frame / 2 - 1));
}

// The index stands in front when the writer moved it there; then the data behind it may be missing.
void VideoFile::check_length() const {
  AVStream* stream = context_->streams[stream_];
  const int entries = avformat_index_get_entries_count(stream);
  std::error_code ignored;
  const auto file_size = static_cast<int64_t>(std::filesystem::file_size(path_, ignored));
  int64_t end = 0;
  for (const int i : {entries / 2, entries - 1}) {
    if (const AVIndexEntry* entry = entries > 0 ? avformat_index_get_entry(stream, i) : nullptr) {
      end = std::max(end, entry->pos + entry->size);
    }
  }
  if (!ignored && end > file_size) {
    throw Error(ErrorKind::kData, str_cat("truncated video: its index needs ", end, " bytes, the file has ", file_size),
                path_, kDamagedHint);
  }
}

// Reads packets until no later one can be shown before those seen; that gives the first timestamps.
void VideoFile::find_start() {
  constexpr int kMaxReorder = 64;
  int64_t first_dts = AV_NOPTS_VALUE, first_pts = AV_NOPTS_VALUE;
  for (int i = 0; i < kMaxReorder && read(*pending_); ++i) {
    const int64_t dts = pending_->dts, pts = pending_->pts;
    av_packet_unref(pending_.get());
    if (first_dts == AV_NOPTS_VALUE) {
      first_dts = dts;
    }
    if (pts != AV_NOPTS_VALUE) {
      first_pts = first_pts == AV_NOPTS_VALUE ? pts : std::min(first_pts, pts);
    }
    if (dts == AV_NOPTS_VALUE || (first_pts != AV_NOPTS_VALUE && dts >= first_pts)) {
      break;
    }
  }
  if (first_dts == AV_NOPTS_VALUE && first_pts == AV_NOPTS_VALUE) {
    throw Error(ErrorKind::kData, "video without pictures or timestamps", path_, kDamagedHint);
  }
  info_.start_pts = first_pts != AV_NOPTS_VALUE ? first_pts : first_dts;
  reorder_shift_ = first_dts != AV_NOPTS_VALUE ? std::max<int64_t>(0, info_.start_pts - first_dts) : 0;
}

int64_t VideoFile::pts_of(int64_t frame) const {
  const AVRational frame_time{static_cast<int>(info_.fps.den), static_cast<int>(info_.fps.num)};
  return info_.start_pts + av_rescale_q(frame, frame_time, to_av(info_.time_base));
}

bool VideoFile::read(AVPacket& packet) {
  while (true) {
    const int rc = av_read_frame(context_.get(), &packet);
    if (rc == AVERROR_EOF) {
      return false;
    }
    if (rc < 0) {
      throw Error(ErrorKind::kData, str_cat("video cannot be read on: ", av_error_text(rc)), path_, kDamagedHint);
    }
    if (packet.stream_index == stream_) {
      return true;
    }
    av_packet_unref(&packet);
  }
}

bool VideoFile::next(AVPacket& packet) {
  if (has_pending_) {
    has_pending_ = false;
    av_packet_move_ref(&packet, pending_.get());
    return true;
  }
  return read(packet);
}

void VideoFile::seek(int64_t pts) {
  int64_t target = pts;  // FFmpeg compares it with presentation or decoding times, which differs between versions
  const int64_t frame_ticks = std::max<int64_t>(1, pts_of(1) - pts_of(0));
  int64_t step = frame_ticks;
  while (true) {
    const int rc = av_seek_frame(context_.get(), stream_, target, AVSEEK_FLAG_BACKWARD);
    const bool at_start = target <= info_.start_pts - reorder_shift_;
    if (rc < 0 && at_start) {
      throw Error(ErrorKind::kData, str_cat("video cannot seek to ", seconds(pts), " s: ", av_error_text(rc)), path_,
                  kDamagedHint);
    }
    if (rc >= 0) {
      av_packet_unref(pending_.get());
      has_pending_ = read(*pending_);
      const int64_t shown = !has_pending_                     ? AV_NOPTS_VALUE
                            : pending_->pts != AV_NOPTS_VALUE ? pending_->pts
                                                              : pending_->dts;
      if (at_start || (has_pending_ && (shown == AV_NOPTS_VALUE || shown <= pts))) {
        return;
      }
    }
    target = std::max(target - step, info_.start_pts - reorder_shift_);  // the key frame is shown after `pts`
    step *= 2;
  }
}

bool VideoFile::has_key_between(int64_t dts, int64_t pts) const {
  AVStream* stream = context_->streams[stream_];
  const int key = av_index_search_timestamp(stream, pts - reorder_shift_, AVSEEK_FLAG_BACKWARD);
  const AVIndexEntry* entry = key >= 0 ? avformat_index_get_entry(stream, key) : nullptr;
  return entry && entry->timestamp > dts;
}

}  // namespace flexor::media
