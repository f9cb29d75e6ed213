#include "nn/fused_ops.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/ivalue.h>
#include <algorithm>
#include <array>

#include "device/device.h"
#include "device/fused.h"
#include "nn/checkpoint.h"
#include "nn/fused_kernels.h"
#include "tensor/tensor.h"

namespace flexor::nn {
namespace {

constexpr int64_t kGrain = 16384;  // elements below which a second thread does not pay

bool takes(const Tensor& x) {
  return x.is_cpu() && x.is_contiguous() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

constexpr size_t kMostTensors = 5;
using Pointers = std::array<char*, kMostTensors>;

/// An elementwise loop over tensors of one length; PyTorch's iterator brings the threads.
/// @param body  (pointers, number of elements, bytes from one element to the next in each tensor)
template <typename Body>
void iterate(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, int64_t grain, const Body& body) {
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false).resize_outputs(false);
  for (const Tensor& output : outputs) {
    config.add_owned_output(output);
  }
  for (const Tensor& input : inputs) {
    config.add_owned_const_input(input);
  }
  const size_t count = outputs.size() + inputs.size();
  const auto loop = [&body, count](char** data, const int64_t* strides, int64_t inner, int64_t outer) {
    Pointers pointers{};
    std::copy_n(data, count, pointers.begin());
    for (int64_t j = 0; j < outer; ++j) {
      body(pointers, inner, strides);
      for (size_t t = 0; t < count; ++t) {
        pointers[t] += strides[count + t];
      }
    }
  };
  config.build().for_each(loop, grain);
}

/// Runs body(pointers, n) over runs of elements; all tensors are contiguous.
template <typename Body>
void over_elements(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const Body& body) {
  const auto flat = [](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) {
      tensor = tensor.view(-1);
    }
    return tensors;
  };
  iterate(flat(outputs), flat(inputs), kGrain,
          [&body](Pointers& pointers, int64_t n, const int64_t*) { body(pointers.data(), n); });
}

/// Runs body(pointers, row length) once a row. Tensors are contiguous, [rows, row length] or [rows].
template <typename Body>
void over_rows(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, int64_t length,
               const Body& body) {
  const auto starts = [](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) {
      tensor = tensor.dim() > 1 ? tensor.select(1, 0) : tensor;
    }
    return tensors;
  };
  const size_t count = outputs.size() + inputs.size();
  iterate(starts(outputs), starts(inputs), std::max<int64_t>(1, kGrain / length),
          [&body, length, count](Pointers pointers, int64_t rows, const int64_t* strides) {
            for (int64_t i = 0; i < rows; ++i) {
              body(pointers.data(), length);
              for (size_t t = 0; t < count; ++t) {
                pointers[t] += strides[t];
              }
            }
          });
}

template <typename T>
T* elements(char* data) {
  return reinterpret_cast<T*>(data);
}

/// Calls f with a value of the element type that the kernels know.
template <typename F>
void with_type(const Tensor& tensor, const F& f) {
  if (tensor.scalar_type() == at::kFloat) {
    f(float{});
  } else {
    f(Bf16Bits{});
  }
}

}  // namespace

Tensor fused_geglu(const Tensor& gate, const Tensor& up) {
  if (!takes(gate) || !takes(up) || gate.scalar_type() != up.scalar_type()) {
    if (gate.device() == device::current() && device::has_fused(device::FusedUse::kGeglu)) {
      return device::call_fused(device::FusedUse::kGeglu,
                                {at::cat({gate, up}, -1), /*dim=*/int64_t{-1}, /*approximate: tanh=*/int64_t{1},
                                 /*activate_left=*/true})[0];
    }
    return at::gelu(gate, "tanh") * up;
  }
  return custom_gradient(
      {gate, up}, {gate, up},
      [](const Tensors&, const Tensors& saved) {
        Tensor out = at::empty_like(saved[0]);
        with_type(out, [&]<typename T>(T) {
          over_elements({out}, {saved[0], saved[1]}, [](char** d, int64_t n) {
            geglu_kernel(elements<T>(d[0]), elements<const T>(d[1]), elements<const T>(d[2]), n);
          });
        });
        return out;
      },
      [](const Tensor& grad, const Tensors& saved, const std::vector<bool>&) {
        const Tensor g = grad.contiguous();
        Tensors d{at::empty_like(g), at::empty_like(g)};
        with_type(g, [&]<typename T>(T) {
          over_elements(d, {g, saved[0], saved[1]}, [](char** p, int64_t n) {
            geglu_backward_kernel(elements<T>(p[0]), elements<T>(p[1]), elements<const T>(p[2]),
                                  elements<const T>(p[3]), elements<const T>(p[4]), n);
          });
        });
        return d;
      });
}

Tensor fused_gelu(const Tensor& x) {
  if (!takes(x)) {
    return at::gelu(x, "tanh");
  }
  return custom_gradient(
      {x}, {x},
      [](const Tensors&, const Tensors& saved) {
        Tensor out = at::empty_like(saved[0]);
        with_type(out, [&]<typename T>(T) {
          over_elements({out}, {saved[0]},
                        [](char** p, int64_t n) { gelu_kernel(elements<T>(p[0]), elements<const T>(p[1]), n); });
        });
        return out;
      },
      [](const Tensor& grad, const Tensors& saved, const std::vector<bool>&) {
        const Tensor g = grad.contiguous();
        Tensors d{at::empty_like(g)};
        with_type(g, [&]<typename T>(T) {
          over_elements(d, {g, saved[0]}, [](char** p, int64_t n) {
            gelu_backward_kernel(elements<T>(p[0]), elements<const T>(p[1]), elements<const T>(p[2]), n);
          });
        });
        return d;
      });
}

Tensor fused_rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  if (!takes(x) || !takes(weight) || weight.scalar_type() != at::kFloat || x.dim() < 2) {
    if (x.device() == device::current() && device::has_fused(device::FusedUse::kRmsNorm)) {
      const Tensor factor = (1.0 + weight.to(at::kFloat)).to(x.scalar_type());
      return device::call_fused(device::FusedUse::kRmsNorm, {x, factor, eps})[0];
    }
    const Tensor x32 = x.to(at::kFloat);
    const Tensor unit = x32 * at::rsqrt(x32.square().mean(-1, /*keepdim=*/true) + eps);
    return (unit * (1.0 + weight.to(at::kFloat))).to(x.scalar_type());
  }
  const int64_t D = x.size(-1);
  const Tensor rms = at::empty({x.numel() / D}, x.options().dtype(at::kFloat));  // 1 / rms(x) of every row
  return custom_gradient(
      {x, weight}, {x, weight, rms},
      [&](const Tensors&, const Tensors& saved) {
        Tensor y = at::empty_like(saved[0]);
        const float* w = saved[1].const_data_ptr<float>();
        with_type(y, [&]<typename T>(T) {
          over_rows({y.view({-1, D}), saved[2]}, {saved[0].view({-1, D})}, D, [&](char** row, int64_t n) {
            *elements<float>(row[1]) =
                rms_norm_kernel(elements<T>(row[0]), elements<const T>(row[2]), w, static_cast<float>(eps), n);
          });
        });
        return y;
      },
      [D](const Tensor& grad, const Tensors& saved, const std::vector<bool>& needs) {
        const Tensor g = grad.contiguous().view({-1, D}), rows = saved[0].view({-1, D});
        Tensors d{at::empty_like(saved[0]), Tensor()};
        const float* w = saved[1].const_data_ptr<float>();
        with_type(g, [&]<typename T>(T) {
          over_rows({d[0].view({-1, D})}, {g, rows, saved[2]}, D, [&](char** row, int64_t n) {
            rms_norm_backward_kernel(elements<T>(row[0]), elements<const T>(row[1]), elements<const T>(row[2]), w,
                                     *elements<const float>(row[3]), n);
          });
        });
        if (needs[1]) {  // sum over the rows of g x r
          d[1] = (g.to(at::kFloat) * rows).mul_(saved[2].unsqueeze(1)).sum(0);
        }
        return d;
      });
}

}  // namespace flexor::nn
