#include "tensor/torch_file.h"

#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/unpickler.h"
#include "tensor/zip_archive.h"

namespace flexor {
namespace {

constexpr int kDeepest = 8;  // a state dict is flat; a dict that contains itself is not endless

/// The folder inside the archive, "archive/", out of the name of its pickle.
std::string archive_prefix(const ZipArchive& archive) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, bytes] : archive.members()) {
    if (name == kPickle || name.ends_with("/data.pkl")) {
      return name.substr(0, name.size() - kPickle.size());
    }
  }
  throw Error(ErrorKind::kCheckpoint, "no checkpoint of torch.save: the archive has no data.pkl", archive.path());
}

void check_byte_order(const ZipArchive& archive, const std::string& prefix) {
  const auto found = archive.members().find(prefix + "byteorder");
  if (found == archive.members().end()) {
    return;
  }
  const std::string order(reinterpret_cast<const char*>(found->second.data()), found->second.size());
  if (order != "little") {
    throw Error(ErrorKind::kCheckpoint, str_cat("byte order '", order, "', expected little"), archive.path());
  }
}

/// A storage as a flat tensor that views the mapping.
Tensor storage_tensor(const ZipArchive& archive, const std::string& prefix, const PickleValue::Storage& storage) {
  const auto bytes = archive.at(prefix + "data/" + storage.key);
  const auto item = static_cast<int64_t>(c10::elementSize(storage.dtype));
  if (storage.numel < 0 || storage.numel > static_cast<int64_t>(bytes.size()) / item) {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("storage '", storage.key, "' has ", bytes.size(), " bytes, ", storage.numel, " values of ",
                        item, " are wanted"),
                archive.path());
  }
  auto* data = const_cast<std::byte*>(bytes.data());
  const Tensor view = at::from_blob(
      data, {storage.numel}, [keep = archive.mapping()](void*) {}, at::TensorOptions().dtype(storage.dtype));
  const bool aligned = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(item) == 0;
  return aligned ? view : view.clone();
}

void flatten(const PickleValue& value, const std::string& name, int depth, const std::string& path,
             std::vector<NamedTensor>& out) {
  if (const auto* tensor = std::get_if<Tensor>(&value.value)) {
    out.emplace_back(name, *tensor);
    return;
  }
  const auto* dict = std::get_if<std::shared_ptr<PickleValue::Dict>>(&value.value);
  if (dict == nullptr) {
    return;
  }
  if (depth > kDeepest) {
    throw Error(ErrorKind::kCheckpoint, str_cat("dicts inside dicts, more than ", kDeepest, " deep"), path);
  }
  for (const auto& [key, item] : **dict) {
    if (const auto* text = std::get_if<std::string>(&key.value)) {
      flatten(item, name.empty() ? *text : name + "." + *text, depth + 1, path, out);
    }
  }
}

}  // namespace

std::vector<NamedTensor> read_torch_file(const std::string& path) {
  const ZipArchive archive = ZipArchive::open(path);
  const std::string prefix = archive_prefix(archive);
  check_byte_order(archive, prefix);
  const PickleValue root = unpickle(
      archive.at(prefix + "data.pkl"),
      [&](const PickleValue::Storage& storage) { return storage_tensor(archive, prefix, storage); }, path);
  std::vector<NamedTensor> tensors;
  flatten(root, "", 0, path, tensors);
  if (tensors.empty()) {
    throw Error(ErrorKind::kCheckpoint, "no tensors in the file", path, "a state dict is expected");
  }
  return tensors;
}

bool is_torch_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[4] = {};
  return file.read(start, sizeof(start)) && std::string_view(start, 4) == std::string_view("PK\x03\x04", 4);
}

std::vector<NamedTensor> read_tensor_file(const std::string& path) {
  if (is_torch_file(path) || path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".bin")) {
    return read_torch_file(path);
  }
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::vector<NamedTensor> tensors;
  tensors.reserve(file.entries().size());
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    tensors.emplace_back(entry.name, file.get(entry.name));
  }
  return tensors;
}

Tensor tensor_of_file(const std::string& path, const std::string& name) {
  for (const auto& [key, tensor] : read_tensor_file(path)) {
    if (key == name) {
      return tensor;
    }
  }
  throw Error(ErrorKind::kCheckpoint, str_cat("no tensor '", name, "'"), path);
}

}  // namespace flexor
