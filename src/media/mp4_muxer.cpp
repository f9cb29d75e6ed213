#include "media/mp4_muxer.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavformat/version.h>
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/av_handle.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

/// An upper bound of the index (moov) of `num_frames` frames.
int64_t index_bytes(const VideoFile& like, int64_t num_frames, int64_t num_parts) {
  const VideoInfo& info = like.info();
  const bool even_ticks = info.fps.den * info.time_base.den % (info.fps.num * info.time_base.num) == 0;
  constexpr int64_t kSizeAndKey = 4 + 4 + 1;  // stsz, stss, sdtp
  constexpr int64_t kRun = 8;                 // an entry of stts or ctts
  constexpr int64_t kChunk = 8 + 12;          // co64, stsc
  constexpr int64_t kFixed = 1536;
  int64_t bytes = kFixed + like.parameters().extradata_size + kSizeAndKey * num_frames;
  bytes += kRun * (even_ticks ? 8 * num_parts : num_frames);
  bytes += like.reorder_shift() != 0 ? kRun * num_frames : 0;
  // Packets that follow each other share a chunk of up to 1 MiB.
  const auto data_bytes = static_cast<double>(std::max<int64_t>(like.parameters().bit_rate, 0)) / 8 *
                          static_cast<double>(num_frames) / info.fps.value();
  bytes += kChunk * std::min(num_frames, 16 + num_parts + static_cast<int64_t>(data_bytes / (256 << 10)));
  return bytes;
}

void copy_side_data(const AVStream& from, AVStream& to) {
#if LIBAVFORMAT_VERSION_INT < AV_VERSION_INT(60, 15, 100)  // later it is part of the codec parameters
  for (int i = 0; i < from.nb_side_data; ++i) {            // a rotation, for one
    const AVPacketSideData& data = from.side_data[i];
    if (uint8_t* copy = av_stream_new_side_data(&to, data.type, data.size)) {
      std::memcpy(copy, data.data, data.size);
    }
  }
#else
  (void)from, (void)to;
#endif
}

}  // namespace

void Mp4Muxer::FreeContext::operator()(AVFormatContext* context) const {
  context->pb = nullptr;  // belongs to the OutputFile
  avformat_free_context(context);
}

Mp4Muxer::Mp4Muxer(const std::string& path, const VideoFile& like, int64_t num_frames, int64_t num_parts)
    : path_(path), file_(path), fps_(like.info().fps), time_base_(like.info().time_base), has_room_(num_frames >= 0) {
  AVFormatContext* raw = nullptr;
  check(avformat_alloc_output_context2(&raw, nullptr, "mp4", path.c_str()), "make an mp4");
  context_.reset(raw);
  raw->pb = file_.io();
  raw->flags |= AVFMT_FLAG_CUSTOM_IO;
  stream_ = avformat_new_stream(raw, nullptr);
  check(stream_ ? avcodec_parameters_copy(stream_->codecpar, &like.parameters()) : AVERROR(ENOMEM), "add a stream");
  if (av_codec_get_id(raw->oformat->codec_tag, stream_->codecpar->codec_tag) != stream_->codecpar->codec_id) {
    stream_->codecpar->codec_tag = 0;  // of another kind of container
  }
  stream_->time_base = to_av(time_base_);
  stream_->avg_frame_rate = stream_->r_frame_rate = to_av(fps_);
  stream_->sample_aspect_ratio = like.stream().sample_aspect_ratio;
  copy_side_data(like.stream(), *stream_);
  AVDictionary* options = nullptr;
  if (has_room_) {
    av_dict_set_int(&options, "moov_size", index_bytes(like, num_frames, num_parts), 0);
  } else {
    av_dict_set(&options, "movflags", "faststart", 0);
  }
  const int rc = avformat_write_header(raw, &options);
  av_dict_free(&options);
  check(rc, "write the header");
}

Mp4Muxer::~Mp4Muxer() = default;

int64_t Mp4Muxer::pts_of(int64_t frame) const {
  const AVRational frame_time{static_cast<int>(fps_.den), static_cast<int>(fps_.num)};
  return av_rescale_q(frame, frame_time, to_av(time_base_));
}

void Mp4Muxer::check(int code, const char* doing) const {
  if (code < 0) {
    file_.check();
    throw Error(ErrorKind::kRuntime, str_cat("cannot ", doing, ": ", av_error_text(code)), path_);
  }
}

bool Mp4Muxer::write(AVPacket& packet, int64_t frame) {
  const int64_t delay = packet.dts != AV_NOPTS_VALUE && packet.pts != AV_NOPTS_VALUE ? packet.pts - packet.dts : 0;
  packet.pts = pts_of(frame);
  packet.dts = std::max(packet.pts - delay, last_dts_ + 1);
  packet.duration = pts_of(frame + 1) - packet.pts;
  packet.pos = -1;
  packet.stream_index = stream_->index;
  if (packet.dts > packet.pts) {
    return false;
  }
  last_dts_ = packet.dts;
  av_packet_rescale_ts(&packet, to_av(time_base_), stream_->time_base);
  check(av_write_frame(context_.get(), &packet), "write a picture");
  av_packet_unref(&packet);
  return true;
}

bool Mp4Muxer::finish() {
  const int rc = av_write_trailer(context_.get());
  if (rc == AVERROR(EINVAL) && has_room_) {
    file_.check();
    return false;
  }
  check(rc, "finish the file");
  file_.close();
  return true;
}

}  // namespace flexor::media
