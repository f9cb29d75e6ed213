// Back end for Ascend devices: kernels and ProcessGroupHCCL live in libtorch_npu.so of the torch_npu wheel, whose
// static initialisers register the device as "npu". It needs CANN to load, and an interpreter to start (npu_python.h).
#include <acl/acl.h>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <torch/headeronly/version.h>
#include <torch_npu/csrc/core/npu/NPUFunctions.h>

#include <torch_npu/csrc/distributed/ProcessGroupHCCL.hpp>

#include "generic_device.h"
#include "npu_python.h"

namespace flexor::plugins {
namespace {

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;

bool has_started = false;  // init() is called once, before everything that reads this

int init(char* error, size_t size) {
  return guarded(error, size, [] {
    start_torch_npu();
    if (c10_npu::device_count() > 0) {  // without a device there is nothing to start
      run_python("torch_npu.npu._lazy_init()");
    }
    has_started = true;
  });
}

int device_count(int32_t* count, char* error, size_t size) {
  return guarded(error, size, [&] { *count = c10_npu::device_count(); });
}

/// Products in bfloat16 came with the 910B; the 910 (A, Pro, Premium) and the 310 have none.
bool has_bf16(std::string_view soc) {
  return soc.starts_with("Ascend910B") || soc.starts_with("Ascend910_9") || soc.starts_with("Ascend95");
}

int describe(int32_t /*index: devices of a machine are alike*/, flexor_backend_device* device, char* error,
             size_t size) {
  return guarded(error, size, [&] {
    const char* soc = aclrtGetSocName();
    std::snprintf(device->name, sizeof device->name, "%s", soc != nullptr ? soc : "Ascend");
    device->capability[0] = '\0';
    device->has_bf16 = soc != nullptr && has_bf16(soc) ? 1 : 0;
  });
}

Notes look_around() {
  Notes found;
  found.add("torch_npu", FLEXOR_TORCH_NPU_VERSION);
  if (has_started) {
    const std::string cann = run_python("result = torch_npu.npu.utils.get_cann_version('CANN')");
    found.add("CANN", cann.empty() ? "unknown" : cann, cann.empty() ? "CANN does not tell its version" : nullptr);
    const std::string driver = run_python("result = torch_npu.npu.utils.get_cann_version('DRIVER')");
    if (!driver.empty()) {
      found.add("driver", driver);
    }
  }
  // The table in torch_npu's own description ends with the line of 2.12.
  found.add("CANN needed", "8.5.0 or newer");
  return found;
}

int notes(const flexor_backend_note** list, size_t* count, char* error, size_t size) {
  return guarded(error, size, [&] {
    static Notes before, after;
    Notes& found = has_started ? after : before;
    if (found.list().empty()) {
      found = look_around();
    }
    *list = found.list().data();
    *count = found.list().size();
  });
}

int new_group(c10d::Store* store, int32_t rank, int32_t world, const int32_t* ranks, int32_t /*device*/,
              const char* name, int64_t timeout_ms, c10d::Backend** out, char* error, size_t size) {
  return guarded(error, size, [&] {
    auto options = c10d_npu::ProcessGroupHCCL::Options::create();
    options->timeout = options->opTimeout = std::chrono::milliseconds(timeout_ms);
    options->group_id = name;  // torch_npu knows communicators by it
    options->global_ranks_in_group.assign(ranks, ranks + world);
    auto shared = c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(store);
    auto group = c10::make_intrusive<c10d_npu::ProcessGroupHCCL>(shared, rank, world, std::move(options));
    *out = group.release();
  });
}

/// As torch_npu does when Python ends: synchronise, then give the devices back.
void shutdown() {
  if (has_started) {
    char error[1];
    guarded(error, sizeof error,
            [] { run_python("torch_npu._C._npu_shutdown(torch_npu._C._npu_shutdown_synchronize())"); });
  }
}

constexpr flexor_backend_fused kFused[] = {
    {.use = FLEXOR_FUSED_ADAMW, .op = "aten::_fused_adamw_"},
    {.use = FLEXOR_FUSED_RMS_NORM, .op = "npu::npu_rms_norm"},
    {.use = FLEXOR_FUSED_ROPE, .op = "npu::npu_rotary_mul"},
    {.use = FLEXOR_FUSED_ATTENTION, .op = "aten::scaled_dot_product_attention"},
    {.use = FLEXOR_FUSED_GEGLU, .op = "npu::npu_geglu"},
};
constexpr const char* kFallbackOps[] = {"aten::_sample_dirichlet"};

const flexor_backend kTable = {
    .abi = FLEXOR_BACKEND_ABI,
    .size = sizeof(flexor_backend),
    .device = "npu",
    .collective = "hccl",
    .torch_version = TORCH_VERSION,
    .visible_variable = "ASCEND_RT_VISIBLE_DEVICES",
    .has_pinned_memory = 1,
    .fused = kFused,
    .num_fused = std::size(kFused),
    .fallback_ops = kFallbackOps,
    .num_fallback_ops = std::size(kFallbackOps),
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
    .shutdown = shutdown,
};

}  // namespace
}  // namespace flexor::plugins

const flexor_backend* flexor_backend_entry(void) {
  return &flexor::plugins::kTable;
}
