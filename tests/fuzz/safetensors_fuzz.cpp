// Any bytes as a safetensors file, or as an index of shards: every tensor that opens can be read to its last byte.
#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "scratch_folder.h"
#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const flexor::fuzz::ScratchFolder folder;
  const bool is_index = size > 0 && data[0] == '{';
  const std::string path = folder.write(is_index ? "model.safetensors.index.json" : "model.safetensors", data, size);
  try {
    const auto file = flexor::SafetensorsFile::open(path);
    for (const auto& entry : file.entries()) {
      const at::Tensor tensor = file.get(entry.name);
      const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
      unsigned sum = 0;
      for (size_t i = 0; i < tensor.nbytes(); ++i) {
        sum += bytes[i];
      }
      static volatile unsigned sink;
      sink = sum;
      (void)sink;
    }
  } catch (const flexor::Error&) {
  }
  return 0;
}
