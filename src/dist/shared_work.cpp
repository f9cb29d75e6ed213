#include "dist/shared_work.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"

namespace flexor::dist {
namespace {

/// What the first number of a rank's message says.
constexpr int kWorked = 0, kTerminated = 1, kInterrupted = 2;

int status_of_process() {
  return interrupted() ? kInterrupted : terminated() ? kTerminated : kWorked;
}

std::string to_bytes(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> to_numbers(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

/// Messages of all ranks; a group of one sends none.
std::vector<std::vector<double>> exchange(Group& group, std::vector<double> mine) {
  std::vector<std::vector<double>> all;
  if (group.world() == 1) {
    all.push_back(std::move(mine));
    return all;
  }
  for (const std::string& bytes : group.gather_bytes(to_bytes(mine))) {
    all.push_back(to_numbers(bytes));
  }
  return all;
}

/// The message of a rank about its piece. A signal within the work is for all ranks; other errors leave them.
std::vector<double> work_or_stop(const std::function<std::vector<double>(int64_t piece)>& work, int64_t piece) {
  std::vector<double> message = {static_cast<double>(kWorked)};
  try {
    const std::vector<double> numbers = work(piece);
    message.insert(message.end(), numbers.begin(), numbers.end());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted && error.kind() != ErrorKind::kTerminated) {
      throw;
    }
    message[0] = error.kind() == ErrorKind::kInterrupted ? kInterrupted : kTerminated;
  }
  return message;
}

}  // namespace

void share_work(Group& group, int64_t first, int64_t end, const std::function<std::vector<double>(int64_t piece)>& work,
                const std::function<void(int64_t piece, std::span<const double> numbers)>& take) {
  for (int64_t turn = first; turn < end; turn += group.world()) {
    const int64_t own = turn + group.rank();
    const int status = status_of_process();
    std::vector<double> mine = {static_cast<double>(status)};
    if (status == kWorked && own < end) {
      mine = work_or_stop(work, own);
    }
    const std::vector<std::vector<double>> all = exchange(group, std::move(mine));
    int stopped = kWorked;
    for (int64_t r = 0; r < group.world(); ++r) {
      const std::vector<double>& message = all[static_cast<size_t>(r)];
      stopped = std::max(stopped, static_cast<int>(message[0]));
      if (stopped == kWorked && turn + r < end) {
        take(turn + r, std::span(message).subspan(1));
      }
    }
    if (stopped != kWorked) {
      throw stopped == kInterrupted ? Error(ErrorKind::kInterrupted, "stopped by Ctrl-C")
                                    : Error(ErrorKind::kTerminated, "stopped by SIGTERM");
    }
  }
}

std::shared_ptr<Group> group_of_one() {
  return join_group(Launch{}, {});
}

}  // namespace flexor::dist
