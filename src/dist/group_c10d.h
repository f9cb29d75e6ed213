#pragma once
// For dist/ only: what stands behind Group, with types of c10d.
#include <any>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/error.h"
#include "dist/group.h"
#include "dist/liveness.h"

namespace flexor::dist {

/// What a group and its sub groups share: the label of the time, the clock of waiting, and the failure that ends all.
class GroupFate {
 public:
  void set_label(const std::string& label, const std::string& way_on);
  std::string label() const;
  void add_waited(double seconds) { waited_s_ = waited_s_ + seconds; }
  double waited_s() const { return waited_s_; }

  std::unique_ptr<Liveness> liveness;  ///< null in a group of one

  bool is_dead() const { return dead_; }
  void report_failure(const std::string& reason) noexcept;
  /// @throws the Error of the first failure, if there was one
  void check() const;
  /// Turns what a collective threw into the group's Error, once, and throws it.
  [[noreturn]] void fail(const std::string& text, const std::string& where, double timeout_s);

 private:
  mutable std::mutex mutex_;
  std::string label_, way_on_;
  std::atomic<double> waited_s_ = 0;
  std::atomic<bool> dead_ = false;
  std::optional<Error> failure_;
};

struct Group::State {
  Launch launch;
  std::string name = "world";
  int64_t rank = 0, world = 1;
  std::vector<int64_t> world_ranks;  ///< of the members
  double timeout_s = 600;
  c10::intrusive_ptr<c10d::Store> store;      ///< null in a group of one
  c10::intrusive_ptr<c10d::ProcessGroup> pg;  ///< null in a group of one
  std::shared_ptr<GroupFate> fate = std::make_shared<GroupFate>();
  int64_t sub_groups = 0;             ///< made so far
  int64_t words = 0;                  ///< that rank 0 has said so far
  std::optional<c10::Device> device;  ///< whose back end is there beside Gloo

  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000));
  }
  std::string where(const std::string& collective) const;
  /// Runs something of c10d; what it throws becomes the group's Error.
  template <typename Body>
  auto guarded(const std::string& collective, Body body) {
    fate->check();
    try {
      return body();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fate->fail(error.what(), where(collective), timeout_s);
    }
  }
  /// Lets go of c10d's objects without waiting for them: they would wait for ranks that are gone.
  void abandon();
};

/// Keeps `what` until the process ends: its destructor would wait for ranks that are gone.
void keep_for_good(std::any what);

/// A Gloo process group over `store`, whose keys are its own.
c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                       const Launch& launch, int64_t rank, int64_t world,
                                                       const std::string& name, std::chrono::milliseconds timeout);

/// Puts the back end of `device` beside Gloo. @param name  unique among the groups of the run
void add_device_backend(Group::State& state, const c10::Device& device, const std::string& name);

}  // namespace flexor::dist
