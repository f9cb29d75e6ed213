// The back end "fake": what a real one looks like, on a device that every machine has. For tests of failures:
//   FLEXOR_FAKE_ABI, FLEXOR_FAKE_TORCH  what it says of itself       FLEXOR_FAKE_INIT  why it does not start
//   FLEXOR_FAKE_DEVICES, FLEXOR_FAKE_MEMORY  devices and the bytes of each
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <torch/headeronly/version.h>

#include "device/backend_plugin.h"
#include "fake_device.h"
#include "fake_group.h"

namespace {

int fail(char* error, size_t size, const char* text) {
  std::snprintf(error, size, "%s", text);
  return 1;
}

int guarded(char* error, size_t size, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    return fail(error, size, e.what());
  }
}

int init(char* error, size_t size) {
  if (const char* why = std::getenv("FLEXOR_FAKE_INIT")) {
    return fail(error, size, why);
  }
  return guarded(error, size, [] { fake::register_memory(); });
}

int device_count(int32_t* count, char*, size_t) {
  *count = static_cast<int32_t>(fake::device_count());
  return 0;
}

int set_device(int32_t index, char* error, size_t size) {
  if (index < 0 || index >= fake::device_count()) {
    return fail(error, size, "no such device");
  }
  fake::set_current_device(index);
  return 0;
}

int nothing(int32_t, char*, size_t) {
  return 0;
}

int describe(int32_t index, flexor_backend_device* device, char*, size_t) {
  std::snprintf(device->name, sizeof device->name, "Fake Device %d", index);
  std::snprintf(device->capability, sizeof device->capability, "1.0");
  device->has_bf16 = 1;
  return 0;
}

int memory(int32_t index, flexor_backend_memory* memory, char*, size_t) {
  const fake::Counters c = fake::counters(index);
  *memory = {c.allocated, c.allocated, c.peak, c.peak, fake::memory_size() - c.allocated, fake::memory_size()};
  return 0;
}

int reset_peak(int32_t index, char*, size_t) {
  fake::reset_peak(index);
  return 0;
}

int empty_cache(char*, size_t) {
  return 0;
}

int notes(const flexor_backend_note** notes, size_t* count, char*, size_t) {
  static const std::array<flexor_backend_note, 2> kNotes = {
      {{"fake runtime", "1.2", nullptr}, {"fake driver", "0.9", "expected 1.0 or newer"}}};
  *notes = kNotes.data();
  *count = kNotes.size();
  return 0;
}

int new_group(flexor_c10d_store* store, int32_t rank, int32_t world, const int32_t*, int32_t, const char*,
              int64_t timeout_ms, flexor_c10d_backend** out, char* error, size_t size) {
  return guarded(error, size,
                 [&] { *out = fake::new_group(store, rank, world, std::chrono::milliseconds(timeout_ms)); });
}

void shutdown() {}

}  // namespace

const flexor_backend* flexor_backend_entry(void) {
  static const std::array<flexor_backend_fused, 7> kFused = {{{FLEXOR_FUSED_ADAMW, "aten::_fused_adamw_"},
                                                              {FLEXOR_FUSED_RMS_NORM, "fake::other_rms_norm"},
                                                              {FLEXOR_FUSED_RMS_NORM, "fake::deaf_rms_norm"},
                                                              {FLEXOR_FUSED_RMS_NORM, "fake::rms_norm"},
                                                              {FLEXOR_FUSED_ROPE, "fake::rotary_mul"},
                                                              {FLEXOR_FUSED_GEGLU, "npu::npu_geglu"},
                                                              {FLEXOR_FUSED_GEGLU, "fake::geglu"}}};
  static const std::array<const char*, 3> kLacks = {"aten::silu.out", "aten::cumsum.out", "aten::no_such_operator"};
  const char* abi = std::getenv("FLEXOR_FAKE_ABI");
  const char* torch = std::getenv("FLEXOR_FAKE_TORCH");
  static flexor_backend table{};
  table = {.abi = abi != nullptr ? std::atoi(abi) : FLEXOR_BACKEND_ABI,
           .size = sizeof(flexor_backend),
           .device = "fake",
           .collective = "fake",
           .torch_version = torch != nullptr ? torch : TORCH_VERSION,
           .visible_variable = "FLEXOR_FAKE_VISIBLE_DEVICES",
           .has_pinned_memory = 1,
           .fused = kFused.data(),
           .num_fused = kFused.size(),
           .fallback_ops = kLacks.data(),
           .num_fallback_ops = kLacks.size(),
           .init = &init,
           .device_count = &device_count,
           .set_device = &set_device,
           .synchronize = &nothing,
           .describe = &describe,
           .memory = &memory,
           .reset_peak = &reset_peak,
           .empty_cache = &empty_cache,
           .notes = &notes,
           .new_group = &new_group,
           .shutdown = &shutdown};
  return &table;
}
