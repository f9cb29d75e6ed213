#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "dist/endpoint.h"
#include "dist/store_c10d.h"
#include "dist/store_probe.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetry(100);
constexpr std::chrono::milliseconds kAnswer(30'000);  ///< of a store that is there, on a busy machine
constexpr std::chrono::milliseconds kSilent(5'000);   ///< the least for the first answer of what listens

std::string place(const Launch& launch) {
  return str_cat("MASTER_ADDR=", launch.master_addr, ", MASTER_PORT=", launch.master_port, ", rank ", launch.rank);
}

[[noreturn]] void refuse_meeting(const Launch& launch, const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::kRuntime, what, place(launch), hint);
}

constexpr const char* kForeignHint = "something else listens there: give all ranks another MASTER_PORT";

/// Asks once; returns the answer, or kNone at `end`.
StoreAnswer wait_for_answer(StoreProbe probe, Clock::time_point end) {
  StoreAnswer answer = StoreAnswer::kNone;
  while (answer == StoreAnswer::kNone && Clock::now() < end) {
    check_interrupt();
    answer = probe.answer(static_cast<int>(kRetry.count()));
  }
  return answer;
}

/// Returns when a store answers. LibTorch's own retries would fill the log, and its wait for an answer hears no signal.
void wait_for_server(const Launch& launch, std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  const double seconds = std::chrono::duration<double>(timeout).count();
  std::string why;
  bool is_closed = false;
  while (true) {
    if (auto socket = connect_to(launch.master_addr, launch.master_port, why)) {
      const auto patience = std::max<Clock::duration>(end - Clock::now(), kSilent);
      const StoreAnswer answer = wait_for_answer(StoreProbe(std::move(*socket)), Clock::now() + patience);
      if (answer == StoreAnswer::kStore) {
        return;
      }
      if (answer == StoreAnswer::kNone) {
        refuse_meeting(launch,
                       str_cat("what listens at the meeting place has not answered within ",
                               std::chrono::round<std::chrono::seconds>(patience).count(), " s"),
                       kForeignHint);
      }
      if (answer == StoreAnswer::kOther) {
        refuse_meeting(launch, "what answers at the meeting place is not a store of ranks", kForeignHint);
      }
      why = "the connection was closed without an answer";  // as by a store that is just ending
      is_closed = true;
    } else {
      is_closed = false;
    }
    check_interrupt();
    if (Clock::now() > end) {
      refuse_meeting(launch, str_cat("nobody answers at the meeting place within ", seconds, " s: ", why),
                     is_closed ? kForeignHint : "is rank 0 running there, and does a firewall keep this node out?");
    }
    std::this_thread::sleep_for(kRetry);
  }
}

/// The constructor connects and waits for an answer, deaf to signals: after one, it is left alone.
c10::intrusive_ptr<c10d::TCPStore> make_store(const std::string& host, const c10d::TCPStoreOptions& options) {
  std::promise<c10::intrusive_ptr<c10d::TCPStore>> promise;
  auto future = promise.get_future();
  std::thread([host, options, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(c10::make_intrusive<c10d::TCPStore>(host, options));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  while (future.wait_for(kRetry) != std::future_status::ready) {
    check_interrupt();
  }
  return future.get();
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
    return c10::make_intrusive<c10d::PrefixStore>(prefix, make_store(launch.master_addr, options));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const bool is_taken = std::string_view(error.what()).find("EADDRINUSE") != std::string_view::npos;
    throw Error(ErrorKind::kRuntime,
                is_taken ? str_cat("port ", launch.master_port, " is taken by another process")
                         : str_cat("no store for the ranks to meet: ", to_error(error).what()),
                place(launch), is_taken ? "give all ranks another MASTER_PORT" : "");
  }
}

}  // namespace flexor::dist
