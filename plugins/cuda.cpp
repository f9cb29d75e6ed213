// Back end for NVIDIA devices: ProcessGroupNCCL and kernels live in libtorch_cuda.so of the CUDA build of LibTorch.
// ProcessGroupNCCL's options embed ncclConfig_t, and the class has members behind conditions on NCCL's version: this
// file is compiled with exactly the NCCL that the torch wheel pins (tools/device_wheels.txt).
#define USE_C10D_NCCL
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <torch/headeronly/version.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "generic_device.h"

namespace flexor::plugins {
namespace {

constexpr c10::DeviceType kDevice = c10::DeviceType::CUDA;
constexpr int kAmpere = 8;  // the first generation with bfloat16 products

int init(char* error, size_t size) {
  return guarded(error, size, [] {
    if (c10::cuda::device_count() > 0) {  // without a device nothing is started; notes() says why there is none
      at::globalContext().lazyInitDevice(kDevice);
    }
  });
}

int device_count(int32_t* count, char* error, size_t size) {
  return guarded(error, size, [&] { *count = c10::cuda::device_count(); });
}

int describe(int32_t index, flexor_backend_device* device, char* error, size_t size) {
  return guarded(error, size, [&] {
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index));
    std::snprintf(device->name, sizeof device->name, "%.127s", properties->name);
    std::snprintf(device->capability, sizeof device->capability, "%d.%d", properties->major, properties->minor);
    device->has_bf16 = properties->major >= kAmpere ? 1 : 0;
  });
}

/// "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..."; "" without the driver.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  std::istringstream words(line);
  while (words >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return {};
}

std::string dotted(long version, long major, long minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

Notes look_around() {
  Notes found;
  const std::string driver = driver_version();
  found.add("driver", driver.empty() ? "none" : driver,
            driver.empty() ? "there is no /proc/driver/nvidia/version: the NVIDIA driver is not loaded" : nullptr);
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  found.add("CUDA runtime", dotted(hooks.versionCUDART(), 1000, 10));
  found.add("cuDNN", dotted(hooks.versionRuntimeCuDNN(), 10000, 100));
  found.add("NCCL", c10d::getNcclVersion());
  return found;
}

int notes(const flexor_backend_note** list, size_t* count, char* error, size_t size) {
  return guarded(error, size, [&] {
    static const Notes found = look_around();
    *list = found.list().data();
    *count = found.list().size();
  });
}

int new_group(c10d::Store* store, int32_t rank, int32_t world, const int32_t* ranks, int32_t device, const char* name,
              int64_t timeout_ms, c10d::Backend** out, char* error, size_t size) {
  return guarded(error, size, [&] {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::milliseconds(timeout_ms);
    options->group_name = name;
    options->global_ranks_in_group.assign(ranks, ranks + world);
    auto shared = c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(store);
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(shared), rank, world, std::move(options));
    group->setGroupUid(name);
    group->setBoundDeviceId(c10::Device(kDevice, static_cast<c10::DeviceIndex>(device)));
    *out = group.release();
  });
}

constexpr flexor_backend_fused kFused[] = {
    {.use = FLEXOR_FUSED_ADAMW, .op = "aten::_fused_adamw_"},
    {.use = FLEXOR_FUSED_ATTENTION, .op = "aten::scaled_dot_product_attention"},
};

const flexor_backend kTable = {
    .abi = FLEXOR_BACKEND_ABI,
    .size = sizeof(flexor_backend),
    .device = "cuda",
    .collective = "nccl",
    .torch_version = TORCH_VERSION,
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .has_pinned_memory = 1,
    .fused = kFused,
    .num_fused = std::size(kFused),
    .fallback_ops = nullptr,
    .num_fallback_ops = 0,
    .init = init,
    .device_count = device_count,
    .set_device = GenericEntries<kDevice>::set_device,
    .synchronize = GenericEntries<kDevice>::synchronize,
    .describe = describe,
    .memory = GenericEntries<kDevice>::memory,
    .reset_peak = GenericEntries<kDevice>::reset_peak,
    .empty_cache = GenericEntries<kDevice>::empty_cache,
    .notes = notes,
    .new_group = new_group,
    .shutdown = [] {},
};

}  // namespace
}  // namespace flexor::plugins

const flexor_backend* flexor_backend_entry(void) {
  return &flexor::plugins::kTable;
}
