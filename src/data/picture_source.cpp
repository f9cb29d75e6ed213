#include "data/picture_source.h"

#include <cassert>
#include <cstdint>
#include <span>

#include "media/image_codec.h"

namespace flexor::data {

const media::Picture& PictureSource::read(const PictureRef& ref) {
  if (ref.video_path) {
    videos_.reader(*ref.video_path).read_at(ref.query_s, ref.tolerance_s, picture_);
  } else {
    assert(ref.image);
    const auto* bytes = reinterpret_cast<const uint8_t*>(ref.image->data());
    media::decode_image(std::span(bytes, ref.image->size()), "", picture_);
  }
  return picture_;
}

}  // namespace flexor::data
