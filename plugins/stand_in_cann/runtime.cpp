// The part of the stand-in CANN that does something: one device (STAND_IN_DEVICES others) whose memory is the host's,
// whose streams are done at once and whose copies are memcpy. Written against the headers of the torch_npu wheel.
#include <acl/acl.h>
#include <acl/acl_op_compiler.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr size_t kAlignment = 512;
constexpr aclError kNoMemory = 207001;
thread_local int32_t current_device = -1;

aclError allocate(void** out, size_t size) {
  *out = std::aligned_alloc(kAlignment, (size + kAlignment) / kAlignment * kAlignment);
  return *out != nullptr ? ACL_SUCCESS : kNoMemory;
}

/// Streams and events are only told apart.
aclError make_handle(void** out) {
  *out = std::malloc(1);
  return *out != nullptr ? ACL_SUCCESS : kNoMemory;
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceCount(uint32_t* count) {
  const char* text = std::getenv("STAND_IN_DEVICES");
  *count = text != nullptr ? static_cast<uint32_t>(std::atoi(text)) : 1;
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
  uint32_t count = 0;
  aclrtGetDeviceCount(&count);
  if (device < 0 || device >= static_cast<int32_t>(count)) {
    return ACL_ERROR_RT_INVALID_DEVICEID;
  }
  current_device = device;
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* device) {
  *device = current_device;
  return current_device >= 0 ? ACL_SUCCESS : ACL_ERROR_RT_CONTEXT_NULL;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  static int only_one = 0;
  *context = &only_one;
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() {
  return "Ascend910B2";
}
const char* aclGetRecentErrMsg() {
  return nullptr;
}
void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}

aclError aclrtMalloc(void** out, size_t size, aclrtMemMallocPolicy) {
  return allocate(out, size);
}
aclError aclrtMallocAlign32(void** out, size_t size, aclrtMemMallocPolicy) {
  return allocate(out, size);
}
aclError aclrtMallocHost(void** out, size_t size) {
  return allocate(out, size);
}
aclError aclrtFree(void* pointer) {
  std::free(pointer);
  return ACL_SUCCESS;
}
aclError aclrtFreeHost(void* pointer) {
  return aclrtFree(pointer);
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  *free = size_t{8} << 30;
  *total = size_t{16} << 30;
  return ACL_SUCCESS;
}

aclError aclrtMemcpy(void* to, size_t, const void* from, size_t count, aclrtMemcpyKind) {
  std::memcpy(to, from, count);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* to, size_t, const void* from, size_t count, aclrtMemcpyKind, aclrtStream) {
  std::memcpy(to, from, count);
  return ACL_SUCCESS;
}

aclError aclrtMemset(void* to, size_t, int32_t value, size_t count) {
  std::memset(to, value, count);
  return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return make_handle(stream);
}
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return make_handle(stream);
}
aclError aclrtDestroyStream(aclrtStream stream) {
  return aclrtFree(stream);
}
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) {
  return make_handle(event);
}
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) {
  return make_handle(event);
}
aclError aclrtDestroyEvent(aclrtEvent event) {
  return aclrtFree(event);
}

aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus* status) {
  *status = ACL_STREAM_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus* status) {
  *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent, aclrtEventWaitStatus* status) {
  *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream, uint32_t* flag) {
  *flag = 0;
  return ACL_SUCCESS;
}

/// Memory of the host that torch_npu asks about was not registered with the device.
aclError aclrtPointerGetAttributes(const void*, aclrtPtrAttributes*) {
  return ACL_ERROR_INVALID_PARAM;
}

size_t aclGetCompileoptSize(aclCompileOpt) {
  return sizeof "disable";
}
aclError aclGetCompileopt(aclCompileOpt, char* value, size_t length) {
  std::strncpy(value, "disable", length);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char*, char* version) {
  std::strcpy(version, "8.5.0");
  return ACL_SUCCESS;
}

}  // extern "C"
