#pragma once
#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flexor {

/// A value out of a pickle. Lists and dicts are shared, as Python's are.
struct PickleValue {
  struct Mark {};
  struct Global {
    std::string name;  ///< "torch._utils._rebuild_tensor_v2"
  };
  struct Storage {
    std::string key;
    at::ScalarType dtype;
    int64_t numel;
  };
  using List = std::vector<PickleValue>;
  using Dict = std::vector<std::pair<PickleValue, PickleValue>>;

  std::variant<std::monostate, bool, int64_t, double, std::string, std::shared_ptr<List>, std::shared_ptr<Dict>,
               Storage, at::Tensor, Global, Mark>
      value;
};

/// Reads a pickle of torch.save without running anything of it: numbers, texts, lists, tuples, dicts (OrderedDict too),
/// storages and tensors are all there is. Tuples become lists.
/// @param storage  the bytes of a storage: called with its key; they must outlive the tensors
/// @param path     for messages
/// @throws Error(kCheckpoint) naming the first other class or function, an operation that such files do not use, or a
///         tensor that reaches beyond its storage
PickleValue unpickle(std::span<const std::byte> bytes,
                     const std::function<at::Tensor(const PickleValue::Storage&)>& storage, const std::string& path);

}  // namespace flexor
