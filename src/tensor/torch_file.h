#pragma once
#include <string>
#include <vector>

#include "tensor/safetensors.h"

namespace flexor {

/// The tensors of a file that torch.save wrote (a state dict, PyTorch 1.6 and newer), under their keys; dicts inside
/// the dict give "outer.inner", other values are left out. Tensors are views of the mapped file (private: writing to
/// them does not change it), which lives as long as any of them. Nothing of the pickle is run.
/// @throws Error(kFile), Error(kCheckpoint): another format, damaged, or a pickle that holds more than tensors, dicts,
///         storages and plain values
std::vector<NamedTensor> read_torch_file(const std::string& path);

/// Whether the file begins as a ZIP archive, which is what torch.save writes.
bool is_torch_file(const std::string& path);

/// The tensors of a .safetensors file, an index of shards, or a file of torch.save, whichever it is.
std::vector<NamedTensor> read_tensor_file(const std::string& path);
/// One of them, through a mapping of its own: writing to it leaves a tensor read before alone.
/// @throws Error(kCheckpoint) if there is none of that name
at::Tensor tensor_of_file(const std::string& path, const std::string& name);

}  // namespace flexor
