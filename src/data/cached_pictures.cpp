#include "data/cached_pictures.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace flexor::data {

bool can_use_frame_cache(const BatchFormat& format) {
  if (format.frame_cache == "off") {
    return false;
  }
  std::string reason;
  if (format.float_pictures) {
    reason = "a frame cache holds uint8 pictures, float pictures are wanted";
  } else if (format.height == 0) {
    reason = "a frame cache holds resized pictures, pictures as recorded are wanted";
  } else if (format.image_transforms == ImageTransforms::kLerobot) {
    reason = "a frame cache holds resized pictures, image_transforms 'lerobot' change them before resizing";
  }
  if (!reason.empty() && format.frame_cache != "auto") {
    throw Error(ErrorKind::kConfig, reason, format.frame_cache, "dataset.cache=off");
  }
  return reason.empty();
}

CachedPictures::CachedPictures(const Mixture& mixture, const BatchFormat& format) {
  if (!can_use_frame_cache(format)) {
    return;
  }
  for (int64_t i = 0; i < mixture.num_parts(); ++i) {
    const Dataset& dataset = mixture.dataset(i);
    Part part{dataset.frame_cache({format.frame_cache, format.height, format.width}), {}, {}, &dataset};
    if (part.cache) {
      for (const FeatureInfo& camera : dataset.cameras()) {
        part.cameras.push_back(part.cache->camera_index(camera.recorded_name));
      }
      for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
        part.first_frames.push_back(part.cache->find(dataset.episode(number).episode_index)->first_frame);
      }
    }
    parts_.push_back(std::move(part));
  }
}

CachedPicture CachedPictures::find(int64_t part, int64_t camera, int64_t position) const {
  if (parts_.empty() || !parts_[static_cast<size_t>(part)].cache) {
    return {};
  }
  const Part& found = parts_[static_cast<size_t>(part)];
  const int64_t number = found.dataset->episode_number(position);
  const int64_t frame =
      found.first_frames[static_cast<size_t>(number)] + position - found.dataset->first_position(number);
  const int64_t picture = found.cache->header().picture_number(frame, found.cameras[static_cast<size_t>(camera)]);
  found.cache->prefetch(picture);
  return {found.cache.get(), picture};
}

}  // namespace flexor::data
