#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "media/picture.h"

namespace flexor::media {

/// PNG or JPEG file content to RGB; grey and palette pictures are expanded, alpha is dropped, 16 bits become 8.
/// PNG is exact; JPEG may differ from other decoders by a few levels (inverse DCT and chroma upsampling are theirs).
/// @param where  the place that an error names
/// @throws Error(kData) if the bytes are neither, or damaged
void decode_image(std::span<const uint8_t> bytes, const std::string& where, Picture& out);

std::vector<uint8_t> encode_png(const Picture& picture);  ///< lossless
/// @param quality      1 (small) to 100 (best)
/// @param full_colour  colour at every pixel (4:4:4) instead of every second one in each direction (4:2:0)
std::vector<uint8_t> encode_jpeg(const Picture& picture, int quality = 90, bool full_colour = false);

}  // namespace flexor::media
