#include "data/column.h"

namespace flexor::data {

int64_t Column::rows() const {
  return std::visit([&](const auto& v) { return width > 0 ? static_cast<int64_t>(v.size()) / width : 0; }, values);
}

double Column::at(int64_t row, int64_t dim) const {
  return std::visit([&](const auto& v) { return static_cast<double>(v[static_cast<size_t>(row * width + dim)]); },
                    values);
}

void Column::copy_row(int64_t row, float* out) const {
  std::visit(
      [&](const auto& v) {
        const auto* from = v.data() + row * width;
        for (int64_t i = 0; i < width; ++i) {
          out[i] = static_cast<float>(from[i]);
        }
      },
      values);
}

}  // namespace flexor::data
