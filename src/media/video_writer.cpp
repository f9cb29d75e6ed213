#include "media/video_writer.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/av_handle.h"
#include "media/frame_fill.h"

namespace flexor::media {
namespace {

const AVCodec* find_encoder(const std::string& name) {
  if (name != "auto") {
    return avcodec_find_encoder_by_name(name.c_str());
  }
  for (const char* candidate : {"libx264", "libopenh264", "mpeg4"}) {
    if (const AVCodec* codec = avcodec_find_encoder_by_name(candidate)) {
      return codec;
    }
  }
  return nullptr;
}

struct CloseOutput {
  void operator()(AVFormatContext* context) const {
    avio_closep(&context->pb);
    avformat_free_context(context);
  }
};

}  // namespace

struct VideoWriter::State {
  std::string path, temporary;
  VideoWriterOptions options;
  std::unique_ptr<AVFormatContext, CloseOutput> output;
  AvPtr<AVCodecContext> encoder;
  AvPtr<AVFrame> frame;
  AvPtr<AVPacket> packet;
  AvPtr<SwsContext> scaler;
  AVStream* stream = nullptr;
  int64_t count = 0;
  bool finished = false;

  void check(int rc, std::string_view doing) const {
    if (rc < 0) {
      throw Error(rc == AVERROR(ENOSPC) || rc == AVERROR(EIO) ? ErrorKind::kFile : ErrorKind::kRuntime,
                  str_cat("cannot ", doing, ": ", av_error_text(rc)), path);
    }
  }

  void open_encoder() {
    const AVCodec* codec = find_encoder(options.codec);
    encoder.reset(codec ? avcodec_alloc_context3(codec) : nullptr);
    if (!encoder) {
      throw Error(ErrorKind::kRuntime, str_cat("this FFmpeg has no encoder \"", options.codec, "\""), path,
                  "`ffmpeg -encoders` lists them");
    }
    encoder->width = options.width;
    encoder->height = options.height;
    encoder->pix_fmt = av_get_pix_fmt(options.pix_fmt.c_str());
    encoder->color_range = static_cast<AVColorRange>(options.color_range);
    encoder->color_primaries = static_cast<AVColorPrimaries>(options.color_primaries);
    encoder->color_trc = static_cast<AVColorTransferCharacteristic>(options.color_transfer);
    encoder->colorspace = static_cast<AVColorSpace>(options.color_space);
    encoder->time_base = {static_cast<int>(options.fps_den), static_cast<int>(options.fps_num)};
    encoder->framerate = {static_cast<int>(options.fps_num), static_cast<int>(options.fps_den)};
    encoder->gop_size = options.gop;
    encoder->thread_count = 1;  // repeatable bytes
    if (options.max_b_frames >= 0) {
      encoder->max_b_frames = options.max_b_frames;
    }
    if (av_opt_set_int(encoder->priv_data, "crf", options.lossless ? 0 : options.crf, 0) <
        0) {  // mpeg4 has no such option
      encoder->flags |= AV_CODEC_FLAG_QSCALE;
      encoder->global_quality = FF_QP2LAMBDA * 5;
    }
    if (std::string_view(codec->name) == "libx265") {
      const char* quiet = options.lossless ? "log-level=none:lossless=1" : "log-level=none";
      av_opt_set(encoder->priv_data, "x265-params", quiet, 0);  // it writes to stderr by itself
    }
    if ((output->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
      encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    check(avcodec_open2(encoder.get(), codec, nullptr), str_cat("open encoder ", codec->name));
  }

  void open_output() {
    AVFormatContext* raw = nullptr;
    check(avformat_alloc_output_context2(&raw, nullptr, "mp4", temporary.c_str()), "make an mp4");
    output.reset(raw);
    open_encoder();
    stream = avformat_new_stream(raw, nullptr);
    check(stream ? avcodec_parameters_from_context(stream->codecpar, encoder.get()) : AVERROR(ENOMEM), "add a stream");
    stream->time_base = encoder->time_base;
    stream->avg_frame_rate = encoder->framerate;
    const int rc = avio_open(&raw->pb, temporary.c_str(), AVIO_FLAG_WRITE);
    if (rc < 0) {
      throw Error(ErrorKind::kFile, str_cat("cannot write: ", av_error_text(rc)), path);
    }
    AVDictionary* flags = nullptr;
    av_dict_set(&flags, "movflags", "faststart", 0);
    const int header = avformat_write_header(raw, &flags);
    av_dict_free(&flags);
    check(header, "write the header");
    frame = make_frame();
    frame->format = encoder->pix_fmt;
    frame->width = encoder->width;
    frame->height = encoder->height;
    check(av_frame_get_buffer(frame.get(), 0), "get memory for a picture");
    packet = make_packet();
  }

  // Hands a picture (null: no more) to the encoder and writes what comes out.
  void encode(const AVFrame* picture) {
    check(avcodec_send_frame(encoder.get(), picture), "encode a picture");
    while (true) {
      const int rc = avcodec_receive_packet(encoder.get(), packet.get());
      if (rc == AVERROR(EAGAIN) || rc == AVERROR_EOF) {
        return;
      }
      check(rc, "encode a picture");
      packet->duration = 1;
      av_packet_rescale_ts(packet.get(), encoder->time_base, stream->time_base);
      packet->stream_index = stream->index;
      check(av_interleaved_write_frame(output.get(), packet.get()), "write a picture");
    }
  }
};

VideoWriter::VideoWriter(const std::string& path, const VideoWriterOptions& options)
    : state_(std::make_unique<State>()) {
  quiet_av_log();
  if (options.width <= 0 || options.height <= 0 || options.width % 2 != 0 || options.height % 2 != 0 ||
      options.fps_num <= 0 || options.fps_den <= 0) {
    throw Error(ErrorKind::kUsage,
                str_cat("video of ", options.width, "x", options.height, " at ", options.fps_num, "/", options.fps_den,
                        " fps: sizes must be positive and even"),
                path);
  }
  state_->path = path;
  state_->temporary = path + ".part";
  state_->options = options;
  try {
    state_->open_output();
  } catch (...) {
    state_->output.reset();
    std::remove(state_->temporary.c_str());
    throw;
  }
}

VideoWriter::~VideoWriter() {
  if (!state_->finished) {
    state_->output.reset();
    std::remove(state_->temporary.c_str());
  }
}

void VideoWriter::write(const Picture& picture) {
  State& s = *state_;
  if (picture.width != s.options.width || picture.height != s.options.height) {
    throw Error(ErrorKind::kUsage,
                str_cat("picture of ", picture.width, "x", picture.height, " for a video of ", s.options.width, "x",
                        s.options.height),
                s.path);
  }
  s.check(av_frame_make_writable(s.frame.get()), "get memory for a picture");
  fill_frame(picture, *s.frame, s.scaler);
  s.frame->pts = s.count++;
  s.encode(s.frame.get());
}

void VideoWriter::write(const AVFrame& frame) {
  State& s = *state_;
  if (frame.width != s.options.width || frame.height != s.options.height) {
    throw Error(ErrorKind::kUsage,
                str_cat("picture of ", frame.width, "x", frame.height, " for a video of ", s.options.width, "x",
                        s.options.height),
                s.path);
  }
  s.check(av_frame_make_writable(s.frame.get()), "get memory for a picture");
  if (frame.format == s.frame->format) {
    s.check(av_frame_copy(s.frame.get(), &frame), "copy a picture");
  } else {
    s.scaler.reset(sws_getCachedContext(s.scaler.release(), frame.width, frame.height,
                                        static_cast<AVPixelFormat>(frame.format), frame.width, frame.height,
                                        s.encoder->pix_fmt, SWS_BICUBIC, nullptr, nullptr, nullptr));
    s.check(s.scaler ? sws_scale(s.scaler.get(), frame.data, frame.linesize, 0, frame.height, s.frame->data,
                                 s.frame->linesize)
                     : AVERROR(EINVAL),
            "convert a picture");
  }
  s.frame->pts = s.count++;
  s.encode(s.frame.get());
}

void VideoWriter::finish() {
  State& s = *state_;
  s.encode(nullptr);
  s.check(av_write_trailer(s.output.get()), "finish the file");
  const int rc = avio_closep(&s.output->pb);
  s.check(rc, "finish the file");
  s.output.reset();
  std::error_code error;
  std::filesystem::rename(s.temporary, s.path, error);
  if (error) {
    throw Error(ErrorKind::kFile, str_cat("cannot rename ", s.temporary, ": ", error.message()), s.path);
  }
  s.finished = true;
}

}  // namespace flexor::media
