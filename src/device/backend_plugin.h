#pragma once
// The C boundary between the program and a device back end, libflexor_NAME.so, which is loaded at run time
// (docs/devices.md). The program includes no header of a vendor and links no library of one; a back end defines the one
// function at the end. Both sides use the same LibTorch, so two of its objects cross: c10d::Store, c10d::Backend.
//
// What the program does, in this order:
//  1. It finds the file in FLEXOR_BACKEND_PATH, beside itself, or in ../lib.
//  2. It opens, with RTLD_NOW | RTLD_GLOBAL, what the back end is linked to and the loader would not find alone:
//       cuda: libtorch_cuda.so beside the program's libtorch_cpu.so
//       npu:  libpython (FLEXOR_LIBPYTHON, else that of the environment around LibTorch), libtorch_python.so beside
//             libtorch_cpu.so, torch_npu/lib/libtorch_npu.so beside the folder torch
//  3. It opens the back end with RTLD_NOW | RTLD_LOCAL, calls flexor_backend_entry(), compares abi, size and
//     torch_version, and checks that every function is there.
//  4. init(), once per process, on the main thread, before a tensor of the device exists. From then on
//     c10::Device("NAME:0") parses, and kernels, allocator, device guard with streams and events
//     (c10::impl::VirtualGuardImpl), default generator and hooks (lazyInitDevice, memory pinned by
//     at::Tensor::pin_memory) of the device type are registered with LibTorch: the program does the rest through them.
//  5. fallback_ops get a kernel that computes on the CPU; device_count(), set_device(local rank), or set_device(0) if
//     visible_variable shows each process one device. A local rank beyond the devices is an error.
//  6. new_group() per group of ranks, after all have met over Gloo and agree on the run; collectives of CPU tensors
//     stay with Gloo.
//  7. shutdown(), after all groups are gone; the process then ends by _exit.
// A process uses one back end. `flexor doctor` does steps 1 to 5 and prints what it finds.
//
// Functions return 0, or something else with a message in `error` (at most `size` bytes with the terminating 0): one
// sentence for users that names what is missing, no stack. They let no exception out. Strings and arrays live as long
// as the process. Threads: after init() any thread may call any function but new_group() and shutdown().
#include <stddef.h>
#include <stdint.h>

#define FLEXOR_BACKEND_ABI 1
#define FLEXOR_BACKEND_ENTRY "flexor_backend_entry"

#ifdef __cplusplus
namespace c10d {
class Backend;
class Store;
}  // namespace c10d
typedef c10d::Backend flexor_c10d_backend;
typedef c10d::Store flexor_c10d_store;
extern "C" {
#else
typedef void flexor_c10d_backend;
typedef void flexor_c10d_store;
#endif

// A line of `flexor doctor`: {"CUDA runtime", "13.0"}, {"NCCL", "2.29.7"}, {"torch_npu", "2.13.0"}, {"CANN", "8.5.0"},
// {"CANN needed", "8.5.0 or newer"}, {"driver", "580.65"}. `problem` is NULL, or why this will not work.
typedef struct flexor_backend_note {
  const char* name;
  const char* value;
  const char* problem;
} flexor_backend_note;

// Bytes of one device. What a back end cannot know is -1.
typedef struct flexor_backend_memory {
  int64_t allocated;       // of live tensors, by this process
  int64_t reserved;        // by this process, kept for tensors to come included
  int64_t peak_allocated;  // since the start or reset_peak()
  int64_t peak_reserved;
  int64_t free;   // on the device, for every process
  int64_t total;  // of the device
} flexor_backend_memory;

typedef struct flexor_backend_device {
  char name[128];       // "NVIDIA H200", "Ascend910B3"
  char capability[32];  // "9.0"; "" where there is no such thing
  int32_t has_bf16;     // bfloat16 products in hardware
} flexor_backend_device;

// What one fused operator may stand for. Its schema must begin with the arguments of the operator named here, all
// others must have defaults; outputs in that order:
//   FLEXOR_FUSED_ADAMW      aten::_fused_adamw_
//   FLEXOR_FUSED_RMS_NORM   npu::npu_rms_norm(Tensor x, Tensor gamma, float epsilon) -> (Tensor y, Tensor rstd)
//   FLEXOR_FUSED_ROPE       npu::npu_rotary_mul(Tensor x, Tensor cos, Tensor sin): halves of the last dimension
//   FLEXOR_FUSED_ATTENTION  aten::scaled_dot_product_attention
//   FLEXOR_FUSED_GEGLU      npu::npu_geglu(Tensor x, int dim, int approximate, bool activate_left) -> (Tensor y,
//                           Tensor gelu): approximate 1 is the tanh form
// RMS norm, RoPE and GEGLU are differentiable, in float32 and bfloat16: the program compares them with its own formulas
// when the device is opened, and leaves alone those that disagree.
typedef enum flexor_fused_use {
  FLEXOR_FUSED_ADAMW = 0,
  FLEXOR_FUSED_RMS_NORM = 1,
  FLEXOR_FUSED_ROPE = 2,
  FLEXOR_FUSED_ATTENTION = 3,
  FLEXOR_FUSED_GEGLU = 4
} flexor_fused_use;

typedef struct flexor_backend_fused {
  int32_t use;     // flexor_fused_use
  const char* op;  // name in LibTorch's dispatcher: "npu::npu_rms_norm"
} flexor_backend_fused;

typedef struct flexor_backend {
  int32_t abi;    // FLEXOR_BACKEND_ABI
  uint32_t size;  // sizeof(flexor_backend)

  const char* device;         // NAME: "cuda", "npu"; what c10::Device parses after init()
  const char* collective;     // "nccl", "hccl": what c10d calls it; NULL: none, one rank only
  const char* torch_version;  // TORCH_VERSION that it was compiled with, "2.13.0": the program refuses another one
  // Variable that says which devices a process sees: "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"; may be NULL.
  const char* visible_variable;
  int32_t has_pinned_memory;  // host memory can be pinned, and copies from there overlap with computation

  const flexor_backend_fused* fused;  // may be NULL with num_fused 0
  size_t num_fused;
  // Operators without a kernel that the device may leave to the CPU, "aten::name" or "aten::name.overload": the program
  // copies their tensors there and back, and logs each name once. Any other operator without a kernel is an error.
  const char* const* fallback_ops;  // may be NULL with num_fallback_ops 0
  size_t num_fallback_ops;

  int (*init)(char* error, size_t size);
  // Devices that this process sees. 0 is no error.
  int (*device_count)(int32_t* count, char* error, size_t size);
  // The device of the calling thread; LibTorch's own threads follow their tensors.
  int (*set_device)(int32_t index, char* error, size_t size);
  int (*synchronize)(int32_t index, char* error, size_t size);  // waits for all that was given to the device
  int (*describe)(int32_t index, flexor_backend_device* device, char* error, size_t size);
  int (*memory)(int32_t index, flexor_backend_memory* memory, char* error, size_t size);
  int (*reset_peak)(int32_t index, char* error, size_t size);
  int (*empty_cache)(char* error, size_t size);  // gives back what is reserved without a tensor
  // May be called before init(); what cannot be found out yet is left out then.
  int (*notes)(const flexor_backend_note** notes, size_t* count, char* error, size_t size);
  // A collective back end of c10d for tensors of the device; NULL when `collective` is NULL.
  // @param store   shared by the members, with keys of this group only; not owned
  // @param rank    of this process among the members, @param world  how many they are
  // @param ranks   [world] ranks in the whole run
  // @param device  index of this process's device, set already
  // @param name    unique among the groups of the run, the same on all members
  // @param out     a new owned reference: the program adopts it by c10::intrusive_ptr<c10d::Backend>::reclaim
  // The communicator may be made by the first collective: the program starts with a small one.
  int (*new_group)(flexor_c10d_store* store, int32_t rank, int32_t world, const int32_t* ranks, int32_t device,
                   const char* name, int64_t timeout_ms, flexor_c10d_backend** out, char* error, size_t size);
  void (*shutdown)(void);
} flexor_backend;

// The only exported symbol of a back end.
__attribute__((visibility("default"))) const flexor_backend* flexor_backend_entry(void);

#ifdef __cplusplus
}
#endif
