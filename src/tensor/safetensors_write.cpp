#include <algorithm>
#include <numeric>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tensor/absent.h"
#include "tensor/safetensors.h"
#include "tensor/safetensors_dtype.h"
#include "tensor/tensor.h"

namespace flexor {

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {  // wide items first: every tensor is aligned
    return tensors[a].second.element_size() > tensors[b].second.element_size();
  });

  Json header = Json::object();
  if (!metadata.empty()) {
    Json& stored = header["__metadata__"];
    for (const auto& [key, value] : metadata) {
      stored[key] = value;
    }
  }
  size_t offset = 0;
  for (const size_t i : order) {
    const auto& [name, tensor] = tensors[i];
    const size_t end = offset + static_cast<size_t>(tensor.numel()) * tensor.element_size();
    header[name] = Json::object({{"dtype", safetensors_from_dtype(tensor.scalar_type())},
                                 {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
                                 {"data_offsets", Json::Array{offset, end}}});
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');

  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const size_t i : order) {
    const Tensor tensor = present(tensors[i].second.detach()).cpu().contiguous();
    file.write({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  file.commit();
}

}  // namespace flexor
