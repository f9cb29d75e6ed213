#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/backend_search.h"

struct flexor_backend;
namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace flexor::device {

/// Bytes of one device; -1: not known.
struct Memory {
  int64_t allocated = -1;  ///< of live tensors, by this process
  int64_t reserved = -1;   ///< by this process, kept for tensors to come included
  int64_t peak_allocated = -1, peak_reserved = -1;
  int64_t free = -1, total = -1;  ///< of the device, for every process
};

/// A version or another fact about a back end, for doctor.
struct BackendNote {
  std::string name, value;
  std::string problem;  ///< why it will not work; usually ""
};

/// An operator of the device that may stand for several (backend_plugin.h).
struct FusedOp {
  std::string use;  ///< "adamw", "rms_norm", "rope", "attention", "geglu"
  std::string op;
  bool is_there = false;  ///< LibTorch's dispatcher has a kernel of that name for the device
};

/// A group of ranks whose collectives a back end will run (backend_plugin.h, new_group).
struct GroupPlan {
  int64_t rank = 0, world = 1;  ///< in the group
  std::vector<int32_t> ranks;   ///< of its members in the run
  int64_t device = 0;           ///< index
  std::string name;
  int64_t timeout_ms = 0;
};

/// An opened back end; one a process, until it ends. All functions throw Error(kRuntime) with the back end's own words.
class Backend {
 public:
  const std::string& name() const { return name_; }  ///< "cuda"
  const std::string& path() const { return path_; }
  std::string collective() const;        ///< "nccl"; "" if there is none
  std::string visible_variable() const;  ///< "CUDA_VISIBLE_DEVICES"; "" if there is none
  bool has_pinned_memory() const;

  int64_t device_count() const;
  void set_device(int64_t index) const;
  void synchronize(int64_t index) const;
  std::string describe(int64_t index) const;  ///< "NVIDIA H200 (9.0)"
  Memory memory(int64_t index) const;
  void reset_peak(int64_t index) const;
  std::vector<BackendNote> notes() const;
  std::vector<FusedOp> fused_ops() const;
  /// Operators that the CPU computes for this device, because it has no kernel of its own.
  const std::vector<std::string>& cpu_ops() const { return cpu_ops_; }

  /// @return a reference that the caller owns  @param store  with keys of this group only
  c10d::Backend* new_group(c10d::Store& store, const GroupPlan& plan) const;
  void shutdown() const noexcept;

 private:
  friend const Backend& open_backend(const std::string& name, const Env& env);
  Backend(std::string name, std::string path, const flexor_backend* table);

  std::string name_, path_;
  const flexor_backend* table_;
  std::vector<std::string> cpu_ops_;
};

/// Finds, loads and starts a back end; the same one again is simply returned.
/// @throws Error(kRuntime) naming the library that is missing, versions that do not fit, what the back end says, or the
/// one that is open already
const Backend& open_backend(const std::string& name, const Env& env);

/// That of this process; null if none was opened.
const Backend* opened_backend();

}  // namespace flexor::device
