#include "media/av_handle.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>
}

#include <array>
#include <mutex>

#include "base/error.h"

namespace flexor::media {

void AvDelete::operator()(AVCodecContext* p) const {
  avcodec_free_context(&p);
}
void AvDelete::operator()(AVCodecParameters* p) const {
  avcodec_parameters_free(&p);
}
void AvDelete::operator()(AVFormatContext* p) const {
  avformat_close_input(&p);
}
void AvDelete::operator()(AVFrame* p) const {
  av_frame_free(&p);
}
void AvDelete::operator()(AVPacket* p) const {
  av_packet_free(&p);
}
void AvDelete::operator()(SwsContext* p) const {
  sws_freeContext(p);
}

AvPtr<AVFrame> make_frame() {
  AvPtr<AVFrame> frame(av_frame_alloc());
  if (!frame) {
    throw Error(ErrorKind::kRuntime, "out of memory for a picture");
  }
  return frame;
}

AvPtr<AVPacket> make_packet() {
  AvPtr<AVPacket> packet(av_packet_alloc());
  if (!packet) {
    throw Error(ErrorKind::kRuntime, "out of memory for a packet");
  }
  return packet;
}

std::string av_error_text(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

void quiet_av_log() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_level(AV_LOG_QUIET); });
}

}  // namespace flexor::media
