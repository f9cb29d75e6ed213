#include "media/shrink.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flexor::media {

void shrink(const Picture& picture, int factor, int multiple, Picture& out) {
  const auto side = [&](int size) { return std::max(1, size / factor / multiple * multiple); };
  out.resize(side(picture.width), side(picture.height));
  const int rows = std::min(factor, picture.height), columns = std::min(factor, picture.width);
  const int count = rows * columns;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        int sum = count / 2;
        for (int dy = 0; dy < rows; ++dy) {
          for (int dx = 0; dx < columns; ++dx) {
            const int64_t pixel = int64_t{y * factor + dy} * picture.width + x * factor + dx;
            sum += picture.rgb[static_cast<size_t>(pixel * 3 + c)];
          }
        }
        out.rgb[static_cast<size_t>((int64_t{y} * out.width + x) * 3 + c)] = static_cast<uint8_t>(sum / count);
      }
    }
  }
}

int shrink_factor(int width, int wanted) {
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(width) / wanted)));
}

}  // namespace flexor::media
