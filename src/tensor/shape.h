#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace flexor {

/// "[2, 50, 32]"
std::string shape_text(at::IntArrayRef shape);

/// "float32", "bfloat16", "int64", ...: the names that PyTorch and the config use.
std::string_view dtype_name(at::ScalarType dtype);

/// @param expected  sizes, -1 for any
/// @param what      what the tensor is and its axes: "attention: x [B, L, D]"
/// @throws Error(kRuntime) "WHAT: expected shape [2, -1, 8], got [2, 3, 7]"
void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> expected, std::string_view what);

}  // namespace flexor
