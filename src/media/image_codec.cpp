#include "media/image_codec.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/av_handle.h"
#include "media/frame_fill.h"
#include "media/rgb_converter.h"

namespace flexor::media {
namespace {

AVCodecID codec_of(std::span<const uint8_t> bytes, const std::string& where) {
  const auto starts_with = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (starts_with("\x89PNG\r\n\x1a\n")) {
    return AV_CODEC_ID_PNG;
  }
  if (starts_with("\xff\xd8\xff")) {
    return AV_CODEC_ID_MJPEG;
  }
  throw Error(ErrorKind::kData, str_cat("image of ", bytes.size(), " bytes is neither PNG nor JPEG"), where);
}

// One decoder per codec and thread: opening one costs as much as a small picture.
AVCodecContext& decoder_for(AVCodecID id) {
  thread_local AvPtr<AVCodecContext> png, jpeg;
  AvPtr<AVCodecContext>& slot = id == AV_CODEC_ID_PNG ? png : jpeg;
  if (!slot) {
    const AVCodec* codec = avcodec_find_decoder(id);
    slot.reset(codec ? avcodec_alloc_context3(codec) : nullptr);
    if (slot) {
      slot->thread_count = 1;
      slot->err_recognition = AV_EF_CRCCHECK | AV_EF_EXPLODE;
    }
    if (!slot || avcodec_open2(slot.get(), codec, nullptr) < 0) {
      slot.reset();
      throw Error(ErrorKind::kRuntime, str_cat("this FFmpeg cannot decode ", avcodec_get_name(id)));
    }
  }
  return *slot;
}

AvPtr<AVPacket> packet_of(std::span<const uint8_t> bytes) {
  AvPtr<AVPacket> packet = make_packet();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max() / 2) ||
      av_new_packet(packet.get(), static_cast<int>(bytes.size())) < 0) {
    throw Error(ErrorKind::kRuntime, str_cat("out of memory for an image of ", bytes.size(), " bytes"));
  }
  std::memcpy(packet->data, bytes.data(), bytes.size());
  packet->flags |= AV_PKT_FLAG_KEY;  // else the PNG decoder adds the picture before it, when the sizes agree
  return packet;
}

/// An open encoder for pictures of one kind. Opening one costs as much as a small picture.
struct Encoder {
  AVCodecID id = AV_CODEC_ID_NONE;
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width = 0, height = 0, quality = 0;
  AvPtr<AVCodecContext> context;
  AvPtr<AVFrame> frame;
  AvPtr<SwsContext> scaler;

  bool fits(const Picture& p, AVCodecID i, AVPixelFormat f, int q) const {
    return context && id == i && format == f && width == p.width && height == p.height && quality == q;
  }
};

/// @throws Error(kRuntime) if there is no such encoder; FFmpeg's error code in `rc` if it cannot be opened
Encoder open_encoder(const Picture& picture, AVCodecID id, AVPixelFormat format, int quality, int& rc) {
  const AVCodec* codec = avcodec_find_encoder(id);
  Encoder encoder{id, format, picture.width, picture.height, quality, {}, make_frame(), {}};
  encoder.context.reset(codec ? avcodec_alloc_context3(codec) : nullptr);
  if (!encoder.context) {
    throw Error(ErrorKind::kRuntime, str_cat("this FFmpeg cannot encode ", avcodec_get_name(id)));
  }
  AVCodecContext& context = *encoder.context;
  context.width = picture.width;
  context.height = picture.height;
  context.pix_fmt = format;
  context.color_range = AVCOL_RANGE_JPEG;
  context.time_base = AVRational{1, 25};
  context.thread_count = 1;
  if (id == AV_CODEC_ID_MJPEG) {
    context.flags |= AV_CODEC_FLAG_QSCALE;
    context.global_quality = FF_QP2LAMBDA * quality;
    context.strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  }
  AVFrame& frame = *encoder.frame;
  frame.width = picture.width;
  frame.height = picture.height;
  frame.format = format;
  frame.color_range = AVCOL_RANGE_JPEG;
  frame.quality = context.global_quality;
  frame.pts = 0;
  rc = avcodec_open2(&context, codec, nullptr);
  rc = rc < 0 ? rc : av_frame_get_buffer(&frame, 0);
  return encoder;
}

std::vector<uint8_t> encode(const Picture& picture, AVCodecID id, AVPixelFormat format, int quality) {
  quiet_av_log();
  thread_local Encoder encoder;  // of the picture before, which is mostly of the same kind
  int rc = 0;
  if (!encoder.fits(picture, id, format, quality)) {
    encoder = {};
    encoder = open_encoder(picture, id, format, quality, rc);
  }
  rc = rc < 0 ? rc : av_frame_make_writable(encoder.frame.get());
  if (rc >= 0) {
    fill_frame(picture, *encoder.frame, encoder.scaler);
    encoder.frame->pts += 1;
    AvPtr<AVPacket> packet = make_packet();
    rc = avcodec_send_frame(encoder.context.get(), encoder.frame.get());
    rc = rc < 0 ? rc : avcodec_receive_packet(encoder.context.get(), packet.get());
    if (rc >= 0) {
      return {packet->data, packet->data + packet->size};
    }
  }
  encoder = {};
  throw Error(ErrorKind::kRuntime, str_cat("cannot encode a picture of ", picture.width, "x", picture.height, " as ",
                                           avcodec_get_name(id), ": ", av_error_text(rc)));
}

}  // namespace

void decode_image(std::span<const uint8_t> bytes, const std::string& where, Picture& out) {
  quiet_av_log();
  const AVCodecID id = codec_of(bytes, where);
  AVCodecContext& decoder = decoder_for(id);
  thread_local AvPtr<AVFrame> frame = make_frame();
  thread_local RgbConverter converter;
  avcodec_flush_buffers(&decoder);
  const AvPtr<AVPacket> packet = packet_of(bytes);
  int rc = avcodec_send_packet(&decoder, packet.get());
  rc = rc < 0 ? rc : avcodec_receive_frame(&decoder, frame.get());
  if (rc == AVERROR(EAGAIN) && avcodec_send_packet(&decoder, nullptr) >= 0) {
    rc = avcodec_receive_frame(&decoder, frame.get());
  }
  if (rc < 0 || frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0) {
    throw Error(ErrorKind::kData,
                str_cat("damaged ", id == AV_CODEC_ID_PNG ? "PNG" : "JPEG", " image of ", bytes.size(), " bytes",
                        rc < 0 ? ": " + av_error_text(rc) : ""),
                where);
  }
  converter.convert(*frame, out);
}

std::vector<uint8_t> encode_png(const Picture& picture) {
  return encode(picture, AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 0);
}

std::vector<uint8_t> encode_jpeg(const Picture& picture, int quality, bool full_colour) {
  // FFmpeg's scale runs from 2 (best) to 31 (coarsest).
  const int scale = 2 + (100 - std::clamp(quality, 1, 100)) * 29 / 99;
  return encode(picture, AV_CODEC_ID_MJPEG, full_colour ? AV_PIX_FMT_YUVJ444P : AV_PIX_FMT_YUVJ420P, scale);
}

}  // namespace flexor::media
