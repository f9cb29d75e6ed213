#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <algorithm>
#include <array>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "fake_device.h"

namespace fake {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr int64_t kMostDevices = 8;
constexpr size_t kAlignment = 512;

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

struct State {
  std::mutex mutex;
  std::array<Counters, kMostDevices> counters;
  std::set<const void*> pinned;
};

State& state() {
  static auto* all = new State;
  return *all;
}

thread_local int64_t the_device = 0;

struct Block {
  void* address;
  int64_t bytes, device;
};

void free_block(void* context) {
  const auto* block = static_cast<Block*>(context);
  {
    const std::lock_guard lock(state().mutex);
    state().counters[static_cast<size_t>(block->device)].allocated -= block->bytes;
  }
  std::free(block->address);
  delete block;
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const int64_t device = the_device;
    const c10::Device where(kType, static_cast<c10::DeviceIndex>(device));
    if (size == 0) {
      return {nullptr, nullptr, &c10::detail::deleteNothing, where};
    }
    const auto bytes = static_cast<int64_t>(size);
    {
      const std::lock_guard lock(state().mutex);
      Counters& c = state().counters[static_cast<size_t>(device)];
      TORCH_CHECK_WITH(OutOfMemoryError, c.allocated + bytes <= memory_size(),
                       "fake device out of memory. Tried to allocate ", bytes / 1024, " KiB");
      c.allocated += bytes;
      c.peak = std::max(c.peak, c.allocated);
    }
    void* address = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
    return {address, new Block{address, bytes, device}, &free_block, where};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t count) const override { std::memcpy(to, from, count); }
};

void free_pinned(void* address) {
  {
    const std::lock_guard lock(state().mutex);
    state().pinned.erase(address);
  }
  std::free(address);
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* address = std::aligned_alloc(kAlignment, (size + kAlignment) / kAlignment * kAlignment);
    const std::lock_guard lock(state().mutex);
    state().pinned.insert(address);
    return {address, address, &free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, size_t count) const override { std::memcpy(to, from, count); }
};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    the_device = device.index();
    return before;
  }
  c10::Device getDevice() const override { return {kType, static_cast<c10::DeviceIndex>(the_device)}; }
  void setDevice(c10::Device device) const override { the_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { the_device = device.index(); }
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(device_count()); }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(device_count()); }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(the_device); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{1});
    return generator;
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static PinnedAllocator allocator;
    return &allocator;
  }
  bool isPinnedPtr(const void* address) const override {
    const std::lock_guard lock(state().mutex);
    return state().pinned.contains(address);
  }
};

}  // namespace

int64_t device_count() {
  return std::clamp<int64_t>(number_from("FLEXOR_FAKE_DEVICES", 1), 0, kMostDevices);
}

int64_t memory_size() {
  return number_from("FLEXOR_FAKE_MEMORY", int64_t{8} << 30);
}

int64_t current_device() {
  return the_device;
}

void set_current_device(int64_t index) {
  the_device = index;
}

Counters counters(int64_t device) {
  const std::lock_guard lock(state().mutex);
  return state().counters[static_cast<size_t>(device)];
}

void reset_peak(int64_t device) {
  const std::lock_guard lock(state().mutex);
  Counters& c = state().counters[static_cast<size_t>(device)];
  c.peak = c.allocated;
}

void register_memory() {
  c10::register_privateuse1_backend("fake");
  c10::SetAllocator(kType, new Allocator);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
}

}  // namespace fake
