#pragma once
#include <memory>
#include <string>

struct AVCodecContext;
struct AVCodecParameters;
struct AVFormatContext;
struct AVFrame;
struct AVPacket;
struct AVStream;
struct SwsContext;

namespace flexor::media {

/// Frees FFmpeg's objects; an output AVFormatContext is not for it (see VideoWriter).
struct AvDelete {
  void operator()(AVCodecContext* p) const;
  void operator()(AVCodecParameters* p) const;
  void operator()(AVFormatContext* p) const;  ///< an opened input
  void operator()(AVFrame* p) const;
  void operator()(AVPacket* p) const;
  void operator()(SwsContext* p) const;
};
template <typename T>
using AvPtr = std::unique_ptr<T, AvDelete>;

AvPtr<AVFrame> make_frame();    ///< @throws Error(kRuntime) without memory
AvPtr<AVPacket> make_packet();  ///< @throws Error(kRuntime) without memory

std::string av_error_text(int code);  ///< FFmpeg's words for a negative return value
void quiet_av_log();                  ///< FFmpeg's own messages off: what matters arrives as an Error

}  // namespace flexor::media
