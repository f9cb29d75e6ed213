#include "media/video_reencode.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libavutil/mathematics.h>
#include <libavutil/pixdesc.h>
}

#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "media/video_decoder.h"
#include "media/video_file.h"
#include "media/video_writer.h"

namespace flexor::media {
namespace {

/// The encoder for a codec by its canonical name. @throws Error(kRuntime)
std::string encoder_for(const std::string& codec, const std::string& path) {
  static const std::map<std::string, std::vector<const char*>, std::less<>> kEncoders = {
      {"av1", {"libsvtav1", "libaom-av1"}}, {"hevc", {"libx265"}}, {"h264", {"libx264", "libopenh264"}}};
  if (const auto known = kEncoders.find(codec); known != kEncoders.end()) {
    for (const char* name : known->second) {
      if (avcodec_find_encoder_by_name(name)) {
        return name;
      }
    }
  } else if (const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(codec.c_str())) {
    if (const AVCodec* encoder = avcodec_find_encoder(descriptor->id)) {
      return encoder->name;
    }
  }
  throw Error(ErrorKind::kRuntime, str_cat("this FFmpeg has no encoder for ", codec), path,
              "install one (`ffmpeg -encoders` lists those that are there)");
}

class Reencoder {
 public:
  Reencoder(std::string path, const EncodeSettings& settings) : path_(std::move(path)), settings_(settings) {}

  int64_t add(const VideoPart& part) {
    VideoFile file(part.path);
    VideoDecoder decoder(file);
    AvPtr<AVPacket> packet = make_packet();
    file.seek(file.pts_of(part.first_frame));
    int64_t next = part.first_frame;
    while (part.num_frames < 0 || next < part.first_frame + part.num_frames) {
      check_interrupt();
      const VideoDecoder::Status status = decoder.receive();
      if (status == VideoDecoder::Status::kFrame) {
        next += take(file, decoder, next) ? 1 : 0;
      } else if (status == VideoDecoder::Status::kNeedsInput) {
        const bool more = file.next(*packet);
        decoder.send(more ? packet.get() : nullptr);
        av_packet_unref(packet.get());
      } else if (status == VideoDecoder::Status::kEnd && part.num_frames < 0) {
        break;
      } else {
        throw Error(ErrorKind::kData, "no picture, the video ends or is damaged", str_cat(part.path, ", frame ", next),
                    "record the episode again, or leave it out");
      }
    }
    return next - part.first_frame;
  }

  void finish() { writer_->finish(); }

 private:
  /// Encodes the decoder's picture if it is number `wanted`; false for those before it.
  bool take(const VideoFile& file, const VideoDecoder& decoder, int64_t wanted) {
    const VideoInfo& info = file.info();
    const AVRational frame_time{static_cast<int>(info.fps.den), static_cast<int>(info.fps.num)};
    const AVRational time_base{static_cast<int>(info.time_base.num), static_cast<int>(info.time_base.den)};
    const int64_t frame = av_rescale_q(decoder.pts() - info.start_pts, time_base, frame_time);
    if (frame < wanted) {
      return false;
    }
    if (frame > wanted) {
      throw Error(ErrorKind::kData, str_cat("the picture after the last one is frame ", frame),
                  str_cat(file.path(), ", frame ", wanted), "record the episode again, or leave it out");
    }
    open(file, decoder.frame());
    writer_->write(decoder.frame());
    return true;
  }

  void open(const VideoFile& file, const AVFrame& frame) {
    const VideoInfo& info = file.info();
    if (writer_) {
      if (!(info.fps == fps_)) {
        throw Error(ErrorKind::kData, str_cat("video has ", info.fps.value(), " frames/s, those before ", fps_.value()),
                    file.path());
      }
      return;
    }
    const char* format = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
    const std::string codec = settings_.codec.empty() ? info.codec : settings_.codec;
    fps_ = info.fps;
    writer_.emplace(path_,
                    VideoWriterOptions{.width = frame.width,
                                       .height = frame.height,
                                       .fps_num = info.fps.num,
                                       .fps_den = info.fps.den,
                                       .codec = encoder_for(codec, path_),
                                       .gop = settings_.gop,
                                       .crf = settings_.crf,
                                       .pix_fmt = settings_.pix_fmt.empty() && format ? format : settings_.pix_fmt,
                                       .lossless = settings_.lossless,
                                       .color_range = frame.color_range,
                                       .color_primaries = frame.color_primaries,
                                       .color_transfer = frame.color_trc,
                                       .color_space = frame.colorspace});
  }

  std::string path_;
  EncodeSettings settings_;
  std::optional<VideoWriter> writer_;
  Rational fps_;
};

}  // namespace

std::vector<int64_t> reencode_parts(const std::vector<VideoPart>& parts, const std::string& path,
                                    const EncodeSettings& settings) {
  Reencoder reencoder(path, settings);
  std::vector<int64_t> frames;
  for (const VideoPart& part : parts) {
    frames.push_back(reencoder.add(part));
  }
  reencoder.finish();
  return frames;
}

}  // namespace flexor::media
