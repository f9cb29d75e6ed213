#pragma once
#include <string>

namespace flexor::media {

/// The libraries that decode, as they run now: "libavcodec 59.37.100, libswscale 6.7.100".
std::string library_versions();

}  // namespace flexor::media
