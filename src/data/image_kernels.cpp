#include "data/image_kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace flexor::data {
namespace {

// Result of an operation: clamped, and cut to whole levels where the picture has levels.
float store(const ImagePlanes& image, float value) {
  const float clamped = std::clamp(value, 0.0F, image.max_value());
  return image.levels ? std::trunc(clamped) : clamped;
}

float grey(const ImagePlanes& image, size_t i) {
  const size_t n = image.plane_size();
  const float value = image.values[i] * 0.2989F + image.values[n + i] * 0.587F + image.values[2 * n + i] * 0.114F;
  return image.levels ? std::floor(value) : value;
}

struct Hsv {
  float h, s, v;
};

Hsv to_hsv(float r, float g, float b) {
  const float high = std::max({r, g, b}), low = std::min({r, g, b});
  const float range = high - low;
  if (range == 0.0F) {
    return {0.0F, 0.0F, high};
  }
  const float rc = (high - r) / range, gc = (high - g) / range, bc = (high - b) / range;
  float h = 0;
  if (high == r) {
    h = bc - gc;
  } else if (high == g) {
    h = 2.0F + rc - bc;
  } else {
    h = 4.0F + gc - rc;
  }
  h = std::fmod(h / 6.0F + 1.0F, 1.0F);
  return {h, range / high, high};
}

void to_rgb(const Hsv& c, float& r, float& g, float& b) {
  const float h6 = c.h * 6.0F;
  const float sector = std::floor(h6), f = h6 - sector;
  const float sf = c.s * f;
  const float p = std::clamp(c.v * (1.0F - c.s), 0.0F, 1.0F), q = std::clamp(c.v * (1.0F - sf), 0.0F, 1.0F),
              t = std::clamp(c.v * (1.0F - c.s + sf), 0.0F, 1.0F);
  switch (static_cast<int>(sector) % 6) {
    case 0:
      r = c.v, g = t, b = p;
      break;
    case 1:
      r = q, g = c.v, b = p;
      break;
    case 2:
      r = p, g = c.v, b = t;
      break;
    case 3:
      r = p, g = q, b = c.v;
      break;
    case 4:
      r = t, g = p, b = c.v;
      break;
    default:
      r = c.v, g = p, b = q;
      break;
  }
}

// Value at a fractional position of one plane, bilinear, zero outside.
float sample_zero(std::span<const float> plane, int width, int height, float x, float y) {
  const auto x0 = static_cast<int>(std::floor(x)), y0 = static_cast<int>(std::floor(y));
  const float fx = x - static_cast<float>(x0), fy = y - static_cast<float>(y0);
  const auto at = [&](int yy, int xx) {
    const bool inside = xx >= 0 && xx < width && yy >= 0 && yy < height;
    return inside ? plane[static_cast<size_t>(yy) * static_cast<size_t>(width) + static_cast<size_t>(xx)] : 0.0F;
  };
  return (1.0F - fy) * ((1.0F - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((1.0F - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

}  // namespace

void adjust_brightness(ImagePlanes& image, float factor) {
  for (float& value : image.values) {
    value = store(image, value * factor);
  }
}

void adjust_contrast(ImagePlanes& image, float factor) {
  double sum = 0;
  for (size_t i = 0; i < image.plane_size(); ++i) {
    sum += grey(image, i);
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(image.plane_size()));
  for (float& value : image.values) {
    value = store(image, value * factor + mean * (1.0F - factor));
  }
}

void adjust_saturation(ImagePlanes& image, float factor) {
  const size_t n = image.plane_size();
  for (size_t i = 0; i < n; ++i) {
    const float level = grey(image, i);
    for (size_t c = 0; c < 3; ++c) {
      float& value = image.values[c * n + i];
      value = store(image, value * factor + level * (1.0F - factor));
    }
  }
}

void adjust_hue(ImagePlanes& image, float shift) {
  const size_t n = image.plane_size();
  float *r = image.values.data(), *g = r + n, *b = g + n;
  for (size_t i = 0; i < n; ++i) {
    const float scale = image.max_value();
    Hsv colour = to_hsv(r[i] / scale, g[i] / scale, b[i] / scale);
    const float turned = std::fmod(colour.h + shift, 1.0F);
    colour.h = turned < 0.0F ? turned + 1.0F : turned;
    to_rgb(colour, r[i], g[i], b[i]);
    if (image.levels) {
      for (float* value : {&r[i], &g[i], &b[i]}) {
        *value = std::trunc(*value * 255.999F);
      }
    }
  }
}

void adjust_sharpness(ImagePlanes& image, float factor) {
  if (image.width <= 2 || image.height <= 2) {
    return;
  }
  const int w = image.width;
  std::vector<float> source;
  for (int c = 0; c < 3; ++c) {
    const std::span<float> plane = image.plane(c);
    source.assign(plane.begin(), plane.end());
    for (int y = 1; y < image.height - 1; ++y) {
      for (int x = 1; x < w - 1; ++x) {
        const float* p = source.data() + static_cast<ptrdiff_t>(y) * w + x;
        const float around = p[-w - 1] + p[-w] + p[-w + 1] + p[-1] + p[1] + p[w - 1] + p[w] + p[w + 1];
        float smooth = around * (1.0F / 13.0F) + p[0] * (5.0F / 13.0F);
        if (image.levels) {
          smooth = std::nearbyint(smooth);
        }
        plane[static_cast<size_t>(y) * static_cast<size_t>(w) + static_cast<size_t>(x)] =
            store(image, p[0] + (smooth - p[0]) * (1.0F - factor));
      }
    }
  }
}

void rotate_and_shift(ImagePlanes& image, double angle_deg, double shift_x, double shift_y) {
  const double angle = angle_deg * std::numbers::pi / 180.0;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const int w = image.width, h = image.height;
  const std::vector<float> source = image.values;
  const size_t n = image.plane_size();
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const double dx = x + 0.5 - 0.5 * w - shift_x, dy = y + 0.5 - 0.5 * h - shift_y;  // from the centre
      const double sx = std::nearbyint(cosine * dx + sine * dy + 0.5 * w - 0.5);
      const double sy = std::nearbyint(-sine * dx + cosine * dy + 0.5 * h - 0.5);
      const bool inside = sx >= 0 && sx < w && sy >= 0 && sy < h;
      const size_t to = static_cast<size_t>(y) * static_cast<size_t>(w) + static_cast<size_t>(x);
      const size_t from = inside ? static_cast<size_t>(sy) * static_cast<size_t>(w) + static_cast<size_t>(sx) : 0;
      for (size_t c = 0; c < 3; ++c) {
        image.values[c * n + to] = inside ? source[c * n + from] : 0.0F;
      }
    }
  }
}

void crop_and_resize(ImagePlanes& image, int top, int left, int height, int width) {
  const int w = image.width, h = image.height;
  const float scale_x = static_cast<float>(width) / static_cast<float>(w);
  const float scale_y = static_cast<float>(height) / static_cast<float>(h);
  const std::vector<float> source = image.values;
  for (int y = 0; y < h; ++y) {
    const float sy = std::max(scale_y * (static_cast<float>(y) + 0.5F) - 0.5F, 0.0F);
    const int y0 = std::min(static_cast<int>(sy), height - 1), y1 = std::min(y0 + 1, height - 1);
    const float fy = sy - static_cast<float>(y0);
    for (int x = 0; x < w; ++x) {
      const float sx = std::max(scale_x * (static_cast<float>(x) + 0.5F) - 0.5F, 0.0F);
      const int x0 = std::min(static_cast<int>(sx), width - 1), x1 = std::min(x0 + 1, width - 1);
      const float fx = sx - static_cast<float>(x0);
      for (int c = 0; c < 3; ++c) {
        const float* p = source.data() + (static_cast<ptrdiff_t>(c) * h + top) * w + left;
        const float upper = (1.0F - fx) * p[y0 * w + x0] + fx * p[y0 * w + x1];
        const float lower = (1.0F - fx) * p[y1 * w + x0] + fx * p[y1 * w + x1];
        image.values[(static_cast<size_t>(c) * static_cast<size_t>(h) + static_cast<size_t>(y)) *
                         static_cast<size_t>(w) +
                     static_cast<size_t>(x)] = (1.0F - fy) * upper + fy * lower;
      }
    }
  }
}

void rotate_openpi(ImagePlanes& image, double angle_deg) {
  const double angle = angle_deg * std::numbers::pi / 180.0;
  const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
  const int w = image.width, h = image.height;
  const ImagePlanes source = image;
  const auto corner_grid = [](int i, int n) {
    return n > 1 ? -1.0F + 2.0F * static_cast<float>(i) / static_cast<float>(n - 1) : -1.0F;
  };
  for (int y = 0; y < h; ++y) {
    const float gy = corner_grid(y, h);
    for (int x = 0; x < w; ++x) {
      const float gx = corner_grid(x, w);
      const float sx = ((gx * cosine - gy * sine + 1.0F) * static_cast<float>(w) - 1.0F) / 2.0F;
      const float sy = ((gx * sine + gy * cosine + 1.0F) * static_cast<float>(h) - 1.0F) / 2.0F;
      for (int c = 0; c < 3; ++c) {
        image.plane(c)[static_cast<size_t>(y) * static_cast<size_t>(w) + static_cast<size_t>(x)] =
            sample_zero(source.plane(c), w, h, sx, sy);
      }
    }
  }
}

void jitter_openpi(ImagePlanes& image, float brightness, float contrast, float saturation) {
  double sum = 0;
  for (float& value : image.values) {
    value *= brightness;
    sum += value;
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(image.values.size()));
  const size_t n = image.plane_size();
  for (size_t i = 0; i < n; ++i) {
    float pixel[3];
    for (size_t c = 0; c < 3; ++c) {
      pixel[c] = (image.values[c * n + i] - mean) * contrast + mean;
    }
    const float level = (pixel[0] + pixel[1] + pixel[2]) / 3.0F;
    for (size_t c = 0; c < 3; ++c) {
      image.values[c * n + i] = std::clamp(level + (pixel[c] - level) * saturation, 0.0F, 1.0F);
    }
  }
}

}  // namespace flexor::data
