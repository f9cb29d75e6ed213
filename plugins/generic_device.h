#pragma once
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <cstddef>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/backend_plugin.h"

namespace flexor::plugins {

/// Puts the text's first line into the caller's buffer, cut to what fits, and gives the code of an error.
int report(std::string_view text, char* error, size_t size);

/// Runs a function that may throw; what crosses the C boundary is a code and one sentence.
template <class Function>
int guarded(char* error, size_t size, const Function& function) noexcept {
  try {
    function();
    return 0;
  } catch (const c10::Error& e) {
    return report(e.what_without_backtrace(), error, size);
  } catch (const std::exception& e) {
    return report(e.what(), error, size);
  } catch (...) {
    return report("an exception of unknown type", error, size);
  }
}

/// Notes with the texts that they point to.
class Notes {
 public:
  /// @param problem  a literal, or null
  void add(const char* name, std::string value, const char* problem = nullptr) {
    texts_.push_back(std::move(value));
    list_.push_back({.name = name, .value = texts_.back().c_str(), .problem = problem});
  }
  const std::vector<flexor_backend_note>& list() const { return list_; }

 private:
  std::deque<std::string> texts_;  // which do not move
  std::vector<flexor_backend_note> list_;
};

// What LibTorch offers alike for every device that is registered with it. They throw.
void set_device(c10::DeviceType type, int32_t index);
void synchronize(c10::DeviceType type, int32_t index);
/// Bytes of the caching allocator; free and total are of the whole device.
flexor_backend_memory memory(c10::DeviceType type, int32_t index);
void reset_peak(c10::DeviceType type, int32_t index);
void empty_cache(c10::DeviceType type);

/// The same as entries of a back end's table.
template <c10::DeviceType kType>
struct GenericEntries {
  static int set_device(int32_t index, char* error, size_t size) {
    return guarded(error, size, [&] { plugins::set_device(kType, index); });
  }
  static int synchronize(int32_t index, char* error, size_t size) {
    return guarded(error, size, [&] { plugins::synchronize(kType, index); });
  }
  static int memory(int32_t index, flexor_backend_memory* bytes, char* error, size_t size) {
    return guarded(error, size, [&] { *bytes = plugins::memory(kType, index); });
  }
  static int reset_peak(int32_t index, char* error, size_t size) {
    return guarded(error, size, [&] { plugins::reset_peak(kType, index); });
  }
  static int empty_cache(char* error, size_t size) {
    return guarded(error, size, [] { plugins::empty_cache(kType); });
  }
};

}  // namespace flexor::plugins
