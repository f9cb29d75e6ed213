#include "media/frame_fill.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::media {

void fill_frame(const Picture& picture, AVFrame& frame, AvPtr<SwsContext>& scaler) {
  if (!scaler) {
    scaler.reset(sws_getContext(picture.width, picture.height, AV_PIX_FMT_RGB24, frame.width, frame.height,
                                static_cast<AVPixelFormat>(frame.format), SWS_BICUBIC, nullptr, nullptr, nullptr));
  }
  const uint8_t* const planes[4] = {picture.rgb.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {picture.width * 3, 0, 0, 0};
  if (!scaler || sws_scale(scaler.get(), planes, strides, 0, picture.height, frame.data, frame.linesize) < 0) {
    const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
    throw Error(ErrorKind::kRuntime, str_cat("cannot convert a picture of ", picture.width, "x", picture.height, " to ",
                                             name ? name : "an unknown format"));
  }
}

}  // namespace flexor::media
