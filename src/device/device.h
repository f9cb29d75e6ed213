#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <cstdint>
#include <optional>
#include <string>

#include "device/backend.h"

namespace flexor::device {

/// What is wrong with a value of the key `device`; "" for auto, cpu, cuda, npu and any NAME whose libflexor_NAME.so is
/// there.
std::string name_problem(const std::string& name, const Env& env);

/// Where among the processes of a node this one is.
struct Seat {
  int64_t local_rank = 0, local_world = 1;
};

/// Chooses the device of this process, for good: every model, batch and optimizer of it is there from now on.
/// auto: an accelerator that the kernel's driver sees and whose back end is there, else the CPU. Of several visible
/// devices the one of the local rank; a launcher that shows every process one device only may number them all the same.
/// Also sets what keeps results comparable between devices: no TF32.
/// @throws Error(kRuntime) as open_backend(), for no visible device, and for a local rank beyond the devices
const c10::Device& choose(const std::string& name, const Seat& seat, const Env& env);

/// The device of this process; the CPU before choose().
const c10::Device& current();
/// Its back end; null on the CPU.
const Backend* current_backend();

/// "cpu", or "cuda:0, NVIDIA H200 (9.0)".
std::string describe_current();
/// What tells its physical device apart from others of this machine: the entry of CUDA_VISIBLE_DEVICES or its like, or
/// its index; "" on the CPU.
std::string physical_id(const Env& env);
/// Figures of its memory; nothing on the CPU.
std::optional<Memory> memory();
void reset_peak();
/// Waits until the device has done all it was given.
void synchronize();

/// The tensor on `device`. A copy from the CPU goes through pinned memory where the device has it, and is waited for by
/// what computes with it, not by the caller. An undefined tensor stays so.
at::Tensor place(const at::Tensor& tensor, const c10::Device& device);
inline at::Tensor place(const at::Tensor& tensor) {
  return place(tensor, current());
}

}  // namespace flexor::device
