#include "device/out_of_memory.h"

#include <c10/util/Exception.h>
#include <cstring>
#include <new>
#include <numeric>
#include <regex>

#include "base/str_cat.h"
#include "base/text.h"
#include "device/device.h"

namespace flexor::device {
namespace {

std::string bytes_text(int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

/// ", 2.00 GiB more were asked for", as the allocators say it.
std::string asked_for(const std::string& text) {
  static const std::regex kTried(R"(ried to allocate ([0-9.]+ ?[KMG]?i?(?:B|bytes)))");
  std::smatch found;
  return std::regex_search(text, found, kTried) ? str_cat(", asked for ", found[1].str(), " more") : std::string();
}

std::string live_text(const std::vector<LiveBytes>& live, const std::optional<Memory>& memory) {
  std::vector<std::string> parts;
  int64_t known = 0;
  for (const LiveBytes& item : live) {
    known += item.bytes;
    if (item.bytes > 0) {
      parts.push_back(str_cat(item.what, " ", bytes_text(item.bytes)));
    }
  }
  if (memory && memory->allocated >= 0) {
    parts.push_back(str_cat(live.empty() ? "tensors " : "activations and others ",
                            bytes_text(std::max<int64_t>(0, memory->allocated - known))));
    if (memory->reserved > memory->allocated) {
      parts.push_back(str_cat("reserved without a tensor ", bytes_text(memory->reserved - memory->allocated)));
    }
  }
  return parts.empty() ? std::string() : str_cat("; live: ", join_text(parts, ", "));
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         std::strstr(error.what(), "can't allocate memory") != nullptr ||
         std::strstr(error.what(), "out of memory") != nullptr;
}

Error out_of_memory(const std::exception& error, const std::vector<LiveBytes>& live, const std::string& where) {
  std::optional<Memory> memory;
  std::string name = "the machine's memory";
  try {
    memory = device::memory();
    name = memory ? current().str() : name;
  } catch (const Error&) {  // a device that cannot even say so
    name = current().str();
  }
  const std::string of = memory && memory->total >= 0 ? str_cat(" of ", bytes_text(memory->total)) : std::string();
  return {ErrorKind::kRuntime, str_cat("out of memory: ", name, of, asked_for(error.what()), live_text(live, memory)),
          where,
          "a smaller batch_size, policy.gradient_checkpointing=true or a bfloat16 dtype needs less; on several ranks "
          "parallel.strategy=zero2 or zero3"};
}

}  // namespace flexor::device
