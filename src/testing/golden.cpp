#include "testing/golden.h"

#include "base/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::testing {
namespace {

/// "3.2e-05 at [0, 4, 2]" for the largest value of `error`.
std::string largest(const Tensor& error, double& value) {
  const int64_t flat = error.flatten().argmax().item<int64_t>();
  value = error.flatten()[flat].item<double>();
  std::vector<int64_t> index(error.sizes().size());
  int64_t rest = flat;
  for (size_t axis = index.size(); axis-- > 0;) {
    index[axis] = rest % error.size(static_cast<int64_t>(axis));
    rest /= error.size(static_cast<int64_t>(axis));
  }
  return str_cat(value, " at ", shape_text(index));
}

::testing::AssertionResult same_shape(const Tensor& actual, const Tensor& expected) {
  if (!actual.defined()) {
    return ::testing::AssertionFailure() << "there is no tensor to compare";
  }
  if (actual.sizes() != expected.sizes()) {
    return ::testing::AssertionFailure() << "expected shape " << shape_text(expected.sizes()) << ", got "
                                         << shape_text(actual.sizes());
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

std::string tests_path(std::string_view relative) {
  return str_cat(FLEXOR_TESTS_DIR, "/", relative);
}

SafetensorsFile golden(std::string_view relative) {
  return SafetensorsFile::open(tests_path(str_cat("golden/", relative)));
}

::testing::AssertionResult tensor_near(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  if (const auto shapes = same_shape(actual, expected); !shapes || expected.numel() == 0) {
    return shapes;
  }
  const Tensor want = expected.detach().to(at::kDouble);
  const Tensor error = (actual.detach().to(at::kDouble) - want).abs();
  const Tensor excess = error - (want.abs() * rtol + atol);
  if ((excess <= 0).all().item<bool>()) {
    return ::testing::AssertionSuccess();
  }
  double value = 0;
  const std::string worst_abs = largest(error, value);
  const std::string worst_rel = largest(error / want.abs().clamp_min(1e-30), value);
  return ::testing::AssertionFailure() << "largest absolute error " << worst_abs << ", largest relative error "
                                       << worst_rel << "; allowed " << rtol << " relative + " << atol << " absolute; "
                                       << (excess > 0).sum().item<int64_t>() << " of " << error.numel() << " differ";
}

::testing::AssertionResult tensor_close_on_average(const Tensor& actual, const Tensor& expected, double mean_abs,
                                                   double max_abs) {
  if (const auto shapes = same_shape(actual, expected); !shapes) {
    return shapes;
  }
  const Tensor error = (actual.detach().to(at::kDouble) - expected.detach().to(at::kDouble)).abs();
  const double mean = error.mean().item<double>();
  double maximum = 0;
  const std::string worst = largest(error, maximum);
  if (mean <= mean_abs && maximum <= max_abs) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "mean absolute error " << mean << " (allowed " << mean_abs << "), largest "
                                       << worst << " (allowed " << max_abs << ")";
}

}  // namespace flexor::testing
