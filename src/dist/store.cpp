#include <algorithm>
#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "dist/endpoint.h"
#include "dist/store_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetry(100);
constexpr std::chrono::milliseconds kAnswer(30'000);  ///< of a store that is there, on a busy machine

std::string place(const Launch& launch) {
  return str_cat("MASTER_ADDR=", launch.master_addr, ", MASTER_PORT=", launch.master_port, ", rank ", launch.rank);
}

/// LibTorch's own retries would fill the log.
void wait_for_server(const Launch& launch, std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  std::string why;
  while (!can_connect(launch.master_addr, launch.master_port, why)) {
    check_interrupt();
    if (Clock::now() > end) {
      throw Error(ErrorKind::kRuntime,
                  str_cat("nobody answers at the meeting place within ",
                          std::chrono::duration_cast<std::chrono::seconds>(timeout).count(), " s: ", why),
                  place(launch), "is rank 0 running there, and does a firewall keep this node out?");
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool may_serve, std::chrono::milliseconds timeout,
                                           const std::string& prefix) {
  const bool serves = may_serve && launch.rank == 0 && !launch.store_is_external;
  if (!serves) {
    wait_for_server(launch, timeout);
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.master_port);
  options.isServer = serves;
  options.numWorkers = static_cast<size_t>(launch.world);
  options.waitWorkers = false;
  options.timeout = std::max(timeout, kAnswer);
  options.multiTenant = true;  // a process may train twice
  try {
    auto tcp = c10::make_intrusive<c10d::TCPStore>(launch.master_addr, options);
    return c10::make_intrusive<c10d::PrefixStore>(prefix, tcp);
  } catch (const std::exception& error) {
    const bool is_taken = std::string_view(error.what()).find("EADDRINUSE") != std::string_view::npos;
    throw Error(ErrorKind::kRuntime,
                is_taken ? str_cat("port ", launch.master_port, " is taken by another process")
                         : str_cat("no store for the ranks to meet: ", to_error(error).what()),
                place(launch), is_taken ? "give all ranks another MASTER_PORT" : "");
  }
}

}  // namespace flexor::dist
