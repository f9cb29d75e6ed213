#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/launch_env.h"

namespace flexor::dist {

enum class ReduceOp { kSum, kMax, kMin };

struct GroupOptions {
  double timeout_s = 600;  ///< to meet, and for each collective
};

/// A collective that runs while the caller goes on. The tensors stay alive until it is done; they must not be touched
/// before wait(). Not waiting is allowed only when the process gives up.
class Pending {
 public:
  struct State;
  Pending();  ///< nothing to wait for
  explicit Pending(std::shared_ptr<State> state);
  ~Pending();
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;

  /// Returns when the result is there; at once when called again.
  /// @throws Error(kRuntime) naming rank, collective, step, and which rank is gone when that can be known
  void wait();

 private:
  std::shared_ptr<State> state_;
};

/// Ranks that work together, over c10d. Collectives must be called by all ranks in the same order, from one thread.
/// CPU tensors go through Gloo, those of a device through its back end once use_device() was called: there a collective
/// is done when what comes after it on the device may use it, which nobody waits for. After an error the group is dead:
/// every further call throws the same error at once, and nothing is waited for, neither in destructors.
///
/// Tensors are contiguous. Sums of bfloat16 are rounded to bfloat16 at every hop: send what must be exact as float32 or
/// float64. The sum of k values is the same on all ranks, to the last bit.
class Group {
 public:
  struct State;
  explicit Group(std::shared_ptr<State> state);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int64_t rank() const;   ///< in this group
  int64_t world() const;  ///< ranks in this group
  bool is_main() const { return rank() == 0; }
  const Launch& launch() const;  ///< of this process
  double timeout_s() const;

  /// What the errors say about the time: "step 12". Shared with sub groups.
  /// @param way_on  the hint of an error at that time that ends the run because a rank is gone or gave up
  void set_label(const std::string& label, const std::string& way_on = {});

  // Blocking collectives. @throws Error(kRuntime) as Pending::wait()
  void all_reduce(at::Tensor tensor, ReduceOp op = ReduceOp::kSum);  ///< in place
  void broadcast(at::Tensor tensor, int64_t root = 0);               ///< in place
  /// @param output  [world * n] values in the order of the ranks; `input` [n] may be this rank's slice of it
  void all_gather(const at::Tensor& input, at::Tensor output);
  /// @param input  [world * n], @param output [n]: this rank's slice of the sum; input is overwritten by scratch
  void reduce_scatter(at::Tensor input, at::Tensor output, ReduceOp op = ReduceOp::kSum);
  void barrier();
  /// Bytes of every rank, on every rank, of any length.
  std::vector<std::string> gather_bytes(const std::string& mine);
  double all_reduce(double value, ReduceOp op = ReduceOp::kSum);  ///< one number
  /// What rank 0 says, on all ranks. The others wait for it without a limit: for times in which rank 0 works alone.
  /// @throws Error(kRuntime) if rank 0 is gone or gave up; Error(kInterrupted), Error(kTerminated) after a signal to a
  /// rank that waits
  std::string broadcast_string(const std::string& words);

  // The same without waiting.
  Pending start_all_reduce(at::Tensor tensor, ReduceOp op = ReduceOp::kSum);
  Pending start_all_gather(const at::Tensor& input, at::Tensor output);
  Pending start_reduce_scatter(at::Tensor input, at::Tensor output, ReduceOp op = ReduceOp::kSum);
  /// @param input  [world * n]: values for each rank in turn  @param output  [world * n]: those from each rank
  Pending start_all_to_all(at::Tensor input, at::Tensor output);

  /// A group of some ranks of this one; called by all ranks of this one with disjoint or equal lists that hold
  /// themselves, in the same order of calls. @param ranks  ascending, of this group  @param name  the same on its
  /// members, for the errors
  std::shared_ptr<Group> sub_group(const std::vector<int64_t>& ranks, const std::string& name);

  /// Seconds that this process waited inside collectives since the start: communication that nothing hid. Shared with
  /// sub groups.
  double waited_s() const;

  /// Tells the other ranks why this one gives up, for their messages; also declares the group dead.
  void report_failure(const std::string& reason) noexcept;

  /// The end of a run that went well: waits until all ranks are here, then lets go of the connections. Without it, the
  /// destructor drops the group without waiting for anybody.
  void close();

  /// Collectives of tensors on this device go through its back end from now on, in sub groups that are made later too;
  /// those of CPU tensors stay with Gloo. Nothing for the CPU. Called by all ranks, which have agreed on the run.
  /// @throws Error(kRuntime) with the back end's words, and as the collectives: a first small one is run
  void use_device(const c10::Device& device);

  State& state() { return *state_; }  ///< for dist/ itself

 private:
  std::shared_ptr<State> state_;
};

/// Meets the other ranks of the launch. A launch of one rank gives a group of one, with no network.
/// @throws Error(kRuntime) naming MASTER_ADDR, MASTER_PORT or GLOO_SOCKET_IFNAME, and the ranks that did not come
/// within timeout_s
std::shared_ptr<Group> join_group(const Launch& launch, const GroupOptions& options);

}  // namespace flexor::dist
