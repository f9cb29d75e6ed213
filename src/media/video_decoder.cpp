#include "media/video_decoder.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

const AVCodec* find_decoder(AVCodecID id) {
  // FFmpeg's own "av1" only drives hardware; the libraries decode everywhere.
  if (id == AV_CODEC_ID_AV1) {
    for (const char* name : {"libdav1d", "libaom-av1"}) {
      if (const AVCodec* codec = avcodec_find_decoder_by_name(name)) {
        return codec;
      }
    }
  }
  return avcodec_find_decoder(id);
}

}  // namespace

VideoDecoder::VideoDecoder(const VideoFile& file)
    : parameters_(avcodec_parameters_alloc()), frame_(make_frame()), time_base_(file.info().time_base) {
  const AVCodecParameters& parameters = file.parameters();
  const AVCodec* codec = find_decoder(parameters.codec_id);
  if (!codec) {
    throw Error(ErrorKind::kData, str_cat("no decoder for codec ", avcodec_get_name(parameters.codec_id)), file.path(),
                "install an FFmpeg that decodes it (`ffmpeg -decoders`), or encode the video again");
  }
  context_.reset(avcodec_alloc_context3(codec));
  int rc = context_ && parameters_ ? avcodec_parameters_copy(parameters_.get(), &parameters) : AVERROR(ENOMEM);
  if (rc >= 0) {
    rc = avcodec_parameters_to_context(context_.get(), &parameters);
  }
  if (rc >= 0) {
    context_->thread_count = 1;
    context_->pkt_timebase = AVRational{static_cast<int>(time_base_.num), static_cast<int>(time_base_.den)};
    rc = avcodec_open2(context_.get(), codec, nullptr);
  }
  if (rc < 0) {
    throw Error(ErrorKind::kData, str_cat("decoder ", codec->name, " refuses the stream: ", av_error_text(rc)),
                file.path());
  }
}

bool VideoDecoder::fits(const VideoFile& file) const {
  const AVCodecParameters &own = *parameters_, &other = file.parameters();
  const auto size = static_cast<size_t>(own.extradata_size);
  return own.codec_id == other.codec_id && own.codec_tag == other.codec_tag && own.width == other.width &&
         own.height == other.height && own.format == other.format && own.profile == other.profile &&
         own.level == other.level && own.color_range == other.color_range && own.color_space == other.color_space &&
         own.extradata_size == other.extradata_size &&
         (size == 0 || std::memcmp(own.extradata, other.extradata, size) == 0) && time_base_ == file.info().time_base;
}

void VideoDecoder::take(const void* reader) {
  avcodec_flush_buffers(context_.get());
  owner_ = reader;
}

int VideoDecoder::send(const AVPacket* packet) {
  return avcodec_send_packet(context_.get(), packet);
}

void VideoDecoder::skip_unreferenced(bool skip) {
  if (context_->codec_id == AV_CODEC_ID_H264 || context_->codec_id == AV_CODEC_ID_MPEG4) {
    context_->skip_frame = skip ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
  }
}

VideoDecoder::Status VideoDecoder::receive() {
  last_error_ = avcodec_receive_frame(context_.get(), frame_.get());
  if (last_error_ >= 0) {
    return Status::kFrame;
  }
  if (last_error_ == AVERROR(EAGAIN)) {
    return Status::kNeedsInput;
  }
  return last_error_ == AVERROR_EOF ? Status::kEnd : Status::kError;
}

int64_t VideoDecoder::pts() const {
  return frame_->pts != AV_NOPTS_VALUE ? frame_->pts : frame_->best_effort_timestamp;
}

std::shared_ptr<VideoDecoder> DecoderPool::get(const VideoFile& file) {
  std::erase_if(decoders_, [](const auto& decoder) { return decoder.expired(); });
  for (const auto& candidate : decoders_) {
    if (auto decoder = candidate.lock(); decoder && decoder->fits(file)) {
      return decoder;
    }
  }
  auto decoder = std::make_shared<VideoDecoder>(file);
  decoders_.push_back(decoder);
  return decoder;
}

}  // namespace flexor::media
