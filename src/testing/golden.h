#pragma once
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tensor/safetensors.h"

namespace flexor::testing {

/// Path of a file below tests/ of the project: tests_path("golden/pi05_tiny/config.json").
std::string tests_path(std::string_view relative);

/// Path of a dataset below tests/data/datasets/.
inline std::string dataset_path(const std::string& name) {
  return tests_path("data/datasets/" + name);
}

/// A golden safetensors file below tests/golden/, opened by its relative path.
SafetensorsFile golden(std::string_view relative);

/// Passes when |actual - expected| <= atol + rtol * |expected| everywhere and shapes agree; a failure tells the largest
/// absolute and relative error with their indices. Values are compared as float64; NaN never passes.
::testing::AssertionResult tensor_near(const at::Tensor& actual, const at::Tensor& expected, double rtol, double atol);

/// As above, for mean and maximum of the absolute difference (how the bfloat16 goldens state their tolerance).
::testing::AssertionResult tensor_close_on_average(const at::Tensor& actual, const at::Tensor& expected,
                                                   double mean_abs, double max_abs);

}  // namespace flexor::testing

#define EXPECT_TENSOR_NEAR(actual, expected, rtol, atol) \
  EXPECT_TRUE(::flexor::testing::tensor_near(actual, expected, rtol, atol))
#define EXPECT_TENSOR_EQUAL(actual, expected) EXPECT_TRUE(::flexor::testing::tensor_near(actual, expected, 0.0, 0.0))
