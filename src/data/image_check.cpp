#include "data/image_check.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "media/image_codec.h"

namespace flexor::data {

std::optional<Finding> check_image(const FeatureInfo& camera, std::string_view bytes) {
  Finding finding{.severity = Severity::kError, .feature = camera.recorded_name};
  media::Picture picture;
  try {
    media::decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "", picture);
  } catch (const Error& error) {
    finding.code = "image_unreadable";
    finding.message = error.what();
    finding.hint = error.hint();
    return finding;
  }
  const auto has = [&](int64_t size) {
    return std::find(camera.shape.begin(), camera.shape.end(), size) != camera.shape.end();
  };
  if (camera.shape.empty() || (has(picture.height) && has(picture.width))) {
    return std::nullopt;
  }
  std::vector<std::string> sizes;
  for (const int64_t size : camera.shape) {
    sizes.push_back(str_cat(size));
  }
  finding.code = "image_size";
  finding.expected = join_text(sizes, "x");
  finding.found = str_cat(picture.height, "x", picture.width);
  finding.message = "height and width of the picture";
  return finding;
}

}  // namespace flexor::data
