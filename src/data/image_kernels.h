#pragma once
#include "data/image_planes.h"

namespace flexor::data {

// Image operations with the arithmetic of torchvision.transforms.v2.functional (the first six) and of openpi's PyTorch
// preprocessing (the rest). All work in place; "levels" pictures end as whole levels where torchvision has a uint8
// form.

void adjust_brightness(ImagePlanes& image, float factor);  ///< x * factor
void adjust_contrast(ImagePlanes& image, float factor);    ///< against the mean of the grey picture
void adjust_saturation(ImagePlanes& image, float factor);  ///< against each pixel's grey (0.2989 R + 0.587 G + 0.114 B)
void adjust_hue(ImagePlanes& image, float shift);          ///< turns of the colour circle, -0.5..0.5
void adjust_sharpness(ImagePlanes& image, float factor);   ///< 0: smoothed by [1 1 1; 1 5 1; 1 1 1] / 13, 1: unchanged
/// Turns by `angle_deg` (counter-clockwise positive in torchvision's sense) around the centre, then shifts by whole
/// pixels; nearest neighbour, zero outside.
void rotate_and_shift(ImagePlanes& image, double angle_deg, double shift_x, double shift_y);

/// Cuts out a rectangle and scales it back to the picture's size: bilinear, half-pixel centres.
void crop_and_resize(ImagePlanes& image, int top, int left, int height, int width);
/// Bilinear rotation with zeros outside, on openpi's grid: corners at -1 and 1 sampled with align_corners = false.
void rotate_openpi(ImagePlanes& image, double angle_deg);
/// Brightness, contrast around the mean of all values, saturation around the channel mean, then clamped to 0..1.
void jitter_openpi(ImagePlanes& image, float brightness, float contrast, float saturation);

}  // namespace flexor::data
