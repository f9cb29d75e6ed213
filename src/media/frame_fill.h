#pragma once
#include "media/av_handle.h"
#include "media/picture.h"

namespace flexor::media {

/// RGB into a frame whose size, format and buffers are set: rgb24 is copied, YUV formats get BT.601.
/// @param scaler  context to reuse for frames of the same kind
/// @throws Error(kRuntime)
void fill_frame(const Picture& picture, AVFrame& frame, AvPtr<SwsContext>& scaler);

}  // namespace flexor::media
