#include <algorithm>
#include <any>
#include <c10/util/Logging.h>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/interrupt.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/endpoint.h"
#include "dist/group_c10d.h"
#include "dist/launch_variables.h"
#include "dist/store_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPoll(20);
constexpr int kGlooThreads = 2;
constexpr int kOnlyErrors = 2;
constexpr std::chrono::milliseconds kConnect(60'000);  ///< for connections among ranks that have met
constexpr double kFarewell_s = 5;                      ///< rank 0 leaves last

std::string world_key(int64_t rank) {
  return str_cat("world/", rank);
}

/// Network interfaces: GLOO_SOCKET_IFNAME, else the one on the way to rank 0. The machine's own name, Gloo's choice,
/// often means the loopback interface.
void add_devices(c10d::ProcessGroupGloo::Options& options, const Launch& launch) {
  const std::string names = Variables(process_env()).text("GLOO_SOCKET_IFNAME");
  for (const std::string& name : split_text(names, ',')) {
    if (name.empty()) {
      continue;
    }
    try {
      options.devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(name));
    } catch (const std::exception&) {
      throw Error(ErrorKind::kConfig, str_cat("no network interface '", name, "' that can be used on ", host_name()),
                  "environment variable GLOO_SOCKET_IFNAME", "ip -brief address lists them");
    }
  }
  if (!options.devices.empty()) {
    return;
  }
  const std::string address = address_towards(launch.master_addr, launch.master_port);
  options.devices.push_back(address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                                            : c10d::ProcessGroupGloo::createDeviceForHostname(address));
}

void compare_world(const std::string& theirs, int64_t rank, const Launch& launch) {
  if (theirs != std::to_string(launch.world)) {
    throw Error(ErrorKind::kRuntime,
                str_cat("rank ", rank, " was started as one of ", theirs, " ranks, this one as one of ", launch.world),
                str_cat("rank ", launch.rank), "all nodes must name the same number of ranks");
  }
}

/// Waits until all ranks have said how many they think they are.
void meet(const c10::intrusive_ptr<c10d::Store>& store, const Launch& launch, double timeout_s) {
  store->set(world_key(launch.rank), store_bytes(std::to_string(launch.world)));
  std::vector<int64_t> missing(static_cast<size_t>(launch.world));
  std::iota(missing.begin(), missing.end(), 0);
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
  while (true) {
    std::erase_if(missing, [&](int64_t r) {
      if (!store->check({world_key(r)})) {
        return false;
      }
      compare_world(store_text(store->get(world_key(r))), r, launch);
      return true;
    });
    if (missing.empty()) {
      return;
    }
    check_interrupt();
    if (Clock::now() > end) {
      throw Error(ErrorKind::kRuntime,
                  str_cat(launch.world - static_cast<int64_t>(missing.size()), " of ", launch.world,
                          " ranks have come within ", timeout_s, " s; missing: ", join_numbers(missing, ", ")),
                  str_cat("rank ", launch.rank, ", start"),
                  "dist.timeout_s says how long the ranks wait for each other");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

/// Keys of this meeting: a launcher's store outlives the ranks of one start, and commands that follow one another.
std::string round_prefix(const Launch& launch, std::chrono::milliseconds timeout,
                         c10::intrusive_ptr<c10d::Store>& counter) {
  counter = open_store(launch, /*may_serve=*/true, timeout, str_cat("flexor/restart", launch.restart));
  const int64_t round = counter->add(str_cat("rounds/", launch.rank), 1);
  return str_cat("flexor/restart", launch.restart, "/round", round);
}

}  // namespace

void keep_for_good(std::any what) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::any>();  // never destroyed, yet reachable
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(what));
}

c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                       const Launch& launch, int64_t rank, int64_t world,
                                                       const std::string& name, std::chrono::milliseconds timeout) {
  const auto options = c10d::ProcessGroupGloo::Options::create(std::max(timeout, kConnect));
  options->threads = kGlooThreads;
  add_devices(*options, launch);
  const auto own = c10::make_intrusive<c10d::PrefixStore>("gloo/" + name, store);
  const auto gloo =
      c10::make_intrusive<c10d::ProcessGroupGloo>(own, static_cast<int>(rank), static_cast<int>(world), options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(own, static_cast<int>(rank), static_cast<int>(world));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);  // barrier() asks for it
  group->setGroupName(name);
  return group;
}

std::shared_ptr<Group> join_group(const Launch& launch, const GroupOptions& options) {
  auto state = std::make_shared<Group::State>();
  state->launch = launch;
  state->timeout_s = options.timeout_s;
  state->rank = launch.rank;
  state->world = launch.world;
  state->world_ranks.resize(static_cast<size_t>(launch.world));
  std::iota(state->world_ranks.begin(), state->world_ranks.end(), 0);
  if (launch.world == 1) {
    return std::make_shared<Group>(std::move(state));
  }
  FLAGS_caffe2_log_level = kOnlyErrors;  // its warnings are stack traces; what matters becomes an Error
  const std::chrono::milliseconds timeout(static_cast<int64_t>(options.timeout_s * 1000));
  c10::intrusive_ptr<c10d::Store> counter;
  const std::string prefix = round_prefix(launch, timeout, counter);
  state->store = open_store(launch, /*may_serve=*/true, timeout, prefix);
  state->fate->set_label("start", {});
  state->guarded("meeting of the ranks", [&] { meet(state->store, launch, options.timeout_s); });
  state->fate->liveness = std::make_unique<Liveness>(launch, prefix + "/live");
  state->pg = state->guarded("connection of the ranks", [&] {
    return make_gloo_group(state->store, launch, launch.rank, launch.world, "world", timeout);
  });
  auto group = std::make_shared<Group>(std::move(state));
  group->barrier();
  return group;
}

std::shared_ptr<Group> Group::sub_group(const std::vector<int64_t>& ranks, const std::string& name) {
  const auto self = std::find(ranks.begin(), ranks.end(), rank());
  auto state = std::make_shared<State>();
  state->launch = state_->launch;
  state->name = name;
  state->timeout_s = state_->timeout_s;
  state->fate = state_->fate;
  state->rank = self - ranks.begin();
  state->world = static_cast<int64_t>(ranks.size());
  for (const int64_t r : ranks) {
    state->world_ranks.push_back(state_->world_ranks.at(static_cast<size_t>(r)));
  }
  const int64_t number = ++state_->sub_groups;
  if (state->world > 1) {
    // The first member tells groups apart that are made by the same call.
    const std::string own = str_cat(state_->name, ".", number, ".", ranks.front());
    state->store = state_->store;
    const std::chrono::milliseconds timeout(static_cast<int64_t>(timeout_s() * 1000));
    state->pg = state->guarded("connection of the ranks", [&] {
      return make_gloo_group(state_->store, state_->launch, state->rank, state->world, own, timeout);
    });
    if (state_->device) {
      add_device_backend(*state, *state_->device, own);
    }
  }
  return std::make_shared<Group>(std::move(state));
}

double Group::timeout_s() const {
  return state_->timeout_s;
}

void Group::close() {
  if (world() == 1 || state_->fate->is_dead() || !state_->pg) {
    return;
  }
  barrier();
  const std::string key = "left";
  state_->guarded("end", [&] {
    state_->store->add(key, 1);
    const double waits_s = state_->launch.store_is_external || rank() != 0 ? 0 : kFarewell_s;
    const auto end = Clock::now() + std::chrono::duration<double>(waits_s);
    while (Clock::now() < end && state_->store->add(key, 0) < world()) {
      std::this_thread::sleep_for(kPoll);
    }
  });
  state_->fate->liveness.reset();
  state_->pg.reset();
}

void Group::State::abandon() {
  if (pg) {  // a destructor would wait for collectives that never end; the process ends soon
    keep_for_good(std::move(pg));
  }
  if (fate.use_count() == 1 && fate->liveness) {
    fate->liveness.reset();
  }
  if (store) {  // a next meeting of the same processes finds the server where it was
    keep_for_good(std::move(store));
  }
}

}  // namespace flexor::dist
