#include "data/shots.h"

#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "data/picture_source.h"
#include "media/image_codec.h"
#include "media/shrink.h"

namespace flexor::data {

std::vector<Shot> shots_of(const Dataset& dataset, int64_t camera, int64_t number, std::span<const int64_t> frames,
                           const ShotSize& size) {
  PictureSource source;
  media::Picture small;
  std::vector<Shot> shots;
  for (const int64_t frame : frames) {
    check_interrupt();
    Shot shot{.frame = frame, .jpeg = {}, .error = {}};
    try {
      const media::Picture& picture = source.read(dataset.picture(camera, dataset.first_position(number) + frame));
      media::shrink(picture, media::shrink_factor(picture.width, size.width), /*multiple=*/1, small);
      shot.jpeg = media::encode_jpeg(small, size.quality);
    } catch (const Error& error) {
      shot.error = error.what();
      log_warn(str_cat("picture not shown: ", error.what()), {{"where", error.where()}, {"frame", frame}});
    }
    shots.push_back(std::move(shot));
  }
  return shots;
}

}  // namespace flexor::data
