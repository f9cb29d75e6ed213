#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>
#include <tuple>

#include "fake_device.h"

namespace fake {

at::Tensor on_cpu(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.mutable_data_ptr(), tensor.sizes(), tensor.strides(), [keep = tensor](void*) {},
      tensor.options().device(at::kCPU).requires_grad(false));
}

namespace {

bool is_ours(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == c10::DeviceType::PrivateUse1;
}

at::Tensor to_host(const at::Tensor& tensor) {
  return is_ours(tensor) ? on_cpu(tensor) : tensor;
}

at::Tensor to_device(const at::Tensor& result, c10::Device device) {
  if (!result.defined()) {
    return result;
  }
  const at::Tensor copy = at::empty_strided(result.sizes(), result.strides(), result.options().device(device));
  on_cpu(copy).copy_(result);
  return copy;
}

/// An argument with its tensors on the host. @param device  gets that of a tensor  @param is_written  one without
/// values may then be resized, which memory that is shared cannot
c10::IValue host_argument(const c10::IValue& value, c10::Device& device, bool is_written) {
  if (value.isTensor() && is_ours(value.toTensor())) {
    const at::Tensor tensor = value.toTensor();
    device = tensor.device();
    return is_written && tensor.numel() == 0 ? at::empty_like(tensor, tensor.options().device(at::kCPU))
                                             : to_host(tensor);
  }
  if (value.isTensorList()) {
    std::vector<at::Tensor> tensors;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      device = is_ours(tensor) ? tensor.device() : device;
      tensors.push_back(to_host(tensor));
    }
    return tensors;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> tensors;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      tensors.push_back(tensor ? std::optional(to_host(*tensor)) : tensor);
    }
    return tensors;
  }
  return value.isDevice() ? c10::IValue(c10::Device(at::kCPU)) : value;
}

/// Puts what was resized on the host into the argument.
void take_resized(const at::Tensor& argument, const at::Tensor& host) {
  const at::Tensor filled = to_device(host, argument.device());
  argument.unsafeGetTensorImpl()->set_storage_keep_dtype(filled.storage());
  argument.unsafeGetTensorImpl()->set_sizes_and_strides(filled.sizes(), filled.strides());
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// The argument that a return value is, if it is one; -1 for a value of its own.
int64_t argument_of(const c10::FunctionSchema& schema, const c10::Argument& result) {
  if (result.alias_info() == nullptr) {
    return -1;
  }
  TORCH_CHECK(result.alias_info()->isWrite(), "fake device: ", schema.name(), " returns a view, which needs a kernel");
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* info = schema.arguments()[i].alias_info();
    if (info != nullptr && info->afterSets() == result.alias_info()->afterSets()) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

/// Any operator: by the CPU's kernel, on the same memory.
void run_by_cpu_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t count = schema.arguments().size(), first = stack->size() - count;
  const std::vector<c10::IValue> given(stack->begin() + static_cast<ptrdiff_t>(first), stack->end());
  c10::Device device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(current_device()));
  std::vector<c10::IValue> host;
  for (size_t i = 0; i < count; ++i) {
    host.push_back(host_argument(given[i], device, is_written(schema.arguments()[i])));
    (*stack)[first + i] = host.back();
  }
  op.callBoxed(stack);
  for (size_t i = 0; i < count; ++i) {
    if (is_written(schema.arguments()[i]) && given[i].isTensor() && is_ours(given[i].toTensor()) &&
        given[i].toTensor().numel() == 0 && host[i].toTensor().numel() > 0) {
      take_resized(given[i].toTensor(), host[i].toTensor());
    }
  }
  const size_t start = stack->size() - schema.returns().size();
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    c10::IValue& value = (*stack)[start + i];
    const int64_t argument = argument_of(schema, schema.returns()[i]);
    if (argument >= 0) {
      value = given[static_cast<size_t>(argument)];
    } else if (value.isTensor()) {
      value = to_device(value.toTensor(), device);
    } else if (value.isTensorList()) {
      std::vector<at::Tensor> tensors;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        tensors.push_back(to_device(tensor, device));
      }
      value = tensors;
    }
  }
}

c10::Device device_or_current(std::optional<c10::Device> device) {
  return device && device->has_index()
             ? *device
             : c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(current_device()));
}

at::Tensor empty_here(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                      std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device_or_current(device));
  return at::Tensor(at::detail::empty_generic(size, c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                              c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                              c10::dtype_or_default(dtype), format));
}

at::Tensor empty_strided_here(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                              std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device_or_current(device));
  return at::Tensor(at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                      c10::dtype_or_default(dtype)));
}

at::Tensor as_strided_here(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                           std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool) {
  to_host(to).copy_(to_host(self));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  return copy_from(self, to, false);
}

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                    at::IntArrayRef output_padding, int64_t groups) {
  const std::optional<at::Tensor> host_bias = bias && bias->defined() ? std::optional(to_host(*bias)) : std::nullopt;
  return to_device(at::convolution(to_host(input), to_host(weight), host_bias, stride, padding, dilation, transposed,
                                   output_padding, groups),
                   input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolve_backward(const at::Tensor& grad, const at::Tensor& input,
                                                                 const at::Tensor& weight, at::IntArrayRef stride,
                                                                 at::IntArrayRef padding, at::IntArrayRef dilation,
                                                                 bool transposed, at::IntArrayRef output_padding,
                                                                 int64_t groups, std::array<bool, 3> mask) {
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  const auto [dx, dw, db] =
      at::convolution_backward(to_host(grad), to_host(input), to_host(weight), at::OptionalIntArrayRef({channels}),
                               stride, padding, dilation, transposed, output_padding, groups, mask);
  return {to_device(dx, input.device()), to_device(dw, input.device()), to_device(db, input.device())};
}

constexpr auto by_cpu_kernel = [] { return torch::CppFunction::makeFromBoxedFunction<&run_by_cpu_kernel>(); };

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(by_cpu_kernel());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_here);
  m.impl("empty_strided", &empty_strided_here);
  m.impl("as_strided", &as_strided_here);
  m.impl("view", [](const at::Tensor& self, at::IntArrayRef size) { return at::native::view(self, size); });
  m.impl("_reshape_alias", [](const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride) {
    return at::native::_reshape_alias(self, size, stride);
  });
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("convolution_overrideable", &convolve);
  m.impl("convolution_backward_overrideable", &convolve_backward);
  // Operators that LibTorch would put together out of others: the CPU does not, and results shall be its own.
  m.impl("native_layer_norm", by_cpu_kernel());
  m.impl("_fused_adamw_", by_cpu_kernel());
}

}  // namespace fake
