#include "media/rgb_converter.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <cstring>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::media {
namespace {

// The deprecated "full range" formats (yuvj420p) are their plain siblings with range = full.
AVPixelFormat plain_format(AVPixelFormat format, int& range) {
  AVPixelFormat plain = format;
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      plain = AV_PIX_FMT_YUV420P;
      break;
    case AV_PIX_FMT_YUVJ422P:
      plain = AV_PIX_FMT_YUV422P;
      break;
    case AV_PIX_FMT_YUVJ444P:
      plain = AV_PIX_FMT_YUV444P;
      break;
    case AV_PIX_FMT_YUVJ440P:
      plain = AV_PIX_FMT_YUV440P;
      break;
    default:
      return format;
  }
  range = AVCOL_RANGE_JPEG;
  return plain;
}

}  // namespace

void RgbConverter::prepare(const AVFrame& frame) {
  int range = frame.color_range;
  const AVPixelFormat format = plain_format(static_cast<AVPixelFormat>(frame.format), range);
  const int colorspace = frame.colorspace;
  if (context_ && frame.width == width_ && frame.height == height_ && frame.format == format_ &&
      colorspace == colorspace_ && range == range_) {
    return;
  }
  context_.reset(sws_getContext(frame.width, frame.height, format, frame.width, frame.height, AV_PIX_FMT_RGB24,
                                SWS_BILINEAR, nullptr, nullptr, nullptr));
  if (!context_) {
    const char* name = av_get_pix_fmt_name(format);
    throw Error(ErrorKind::kData, str_cat("pixel format ", name ? name : "unknown", " of size ", frame.width, "x",
                                          frame.height, " cannot become rgb24"));
  }
  const bool tagged = colorspace != AVCOL_SPC_UNSPECIFIED && colorspace != AVCOL_SPC_RGB;
  if (tagged || range == AVCOL_RANGE_JPEG) {
    int *in_table = nullptr, *out_table = nullptr;
    int in_range = 0, out_range = 0, brightness = 0, contrast = 0, saturation = 0;
    if (sws_getColorspaceDetails(context_.get(), &in_table, &in_range, &out_table, &out_range, &brightness, &contrast,
                                 &saturation) >= 0) {
      const int* table = tagged ? sws_getCoefficients(colorspace) : in_table;
      sws_setColorspaceDetails(context_.get(), table, range == AVCOL_RANGE_JPEG ? 1 : 0, out_table, out_range,
                               brightness, contrast, saturation);
    }
  }
  width_ = frame.width;
  height_ = frame.height;
  format_ = frame.format;
  colorspace_ = colorspace;
  range_ = range;
}

void RgbConverter::convert(const AVFrame& frame, Picture& out) {
  prepare(frame);
  out.resize(frame.width, frame.height);
  const int row = frame.width * 3;
  // The SIMD converters work on blocks of pixels and leave a rest out when the rows of the target have no room for it.
  constexpr int kBlock = 32;
  const bool direct = frame.width % kBlock == 0;
  const int stride = (frame.width + kBlock - 1) / kBlock * kBlock * 3;
  uint8_t* target = out.rgb.data();
  if (!direct) {
    scratch_.resize(static_cast<size_t>(stride) * static_cast<size_t>(frame.height) + 64);
    target = scratch_.data();
  }
  uint8_t* const planes[4] = {target, nullptr, nullptr, nullptr};
  const int strides[4] = {stride, 0, 0, 0};
  const int rows = sws_scale(context_.get(), frame.data, frame.linesize, 0, frame.height, planes, strides);
  if (rows != frame.height) {
    throw Error(ErrorKind::kData, str_cat("colour conversion gave ", rows, " of ", frame.height, " rows"));
  }
  if (!direct) {
    for (int y = 0; y < frame.height; ++y) {
      std::memcpy(out.rgb.data() + static_cast<size_t>(y) * static_cast<size_t>(row),
                  scratch_.data() + static_cast<size_t>(y) * static_cast<size_t>(stride), static_cast<size_t>(row));
    }
  }
}

}  // namespace flexor::media
