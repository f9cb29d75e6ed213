#include "media/library_versions.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/version.h>
#include <libswscale/swscale.h>
}

#include "base/str_cat.h"

namespace flexor::media {
namespace {

std::string dotted(unsigned version) {
  return str_cat(AV_VERSION_MAJOR(version), ".", AV_VERSION_MINOR(version), ".", AV_VERSION_MICRO(version));
}

}  // namespace

std::string library_versions() {
  return str_cat("libavcodec ", dotted(avcodec_version()), ", libswscale ", dotted(swscale_version()));
}

}  // namespace flexor::media
