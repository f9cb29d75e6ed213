#pragma once
#include "media/picture.h"

namespace flexor::media {

/// Means of factor x factor pixels; what is left over at the right and the bottom is dropped.
/// @param factor    1 or more  @param multiple  of the sides of `out`
void shrink(const Picture& picture, int factor, int multiple, Picture& out);

/// The factor that brings `width` nearest to `wanted`, 1 or more.
int shrink_factor(int width, int wanted);

}  // namespace flexor::media
