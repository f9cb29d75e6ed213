#include "tensor/shape.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor {
namespace {

constexpr std::array<std::pair<at::ScalarType, std::string_view>, 11> kDtypes{{
    {at::kFloat, "float32"},
    {at::kBFloat16, "bfloat16"},
    {at::kHalf, "float16"},
    {at::kDouble, "float64"},
    {at::kLong, "int64"},
    {at::kInt, "int32"},
    {at::kShort, "int16"},
    {at::kChar, "int8"},
    {at::kByte, "uint8"},
    {at::kBool, "bool"},
    {at::kComplexFloat, "complex64"},
}};

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [known, name] : kDtypes) {
    if (known == dtype) {
      return name;
    }
  }
  return c10::toString(dtype);
}

void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> expected, std::string_view what) {
  const at::IntArrayRef wanted(expected.begin(), expected.size());
  if (!tensor.defined()) {
    throw Error(ErrorKind::kRuntime, str_cat(what, ": expected shape ", shape_text(wanted), ", got no tensor"));
  }
  const auto fits = [](int64_t want, int64_t have) { return want == -1 || want == have; };
  const auto sizes = tensor.sizes();
  if (!std::equal(wanted.begin(), wanted.end(), sizes.begin(), sizes.end(), fits)) {
    throw Error(ErrorKind::kRuntime,
                str_cat(what, ": expected shape ", shape_text(wanted), ", got ", shape_text(sizes)));
  }
}

}  // namespace flexor
