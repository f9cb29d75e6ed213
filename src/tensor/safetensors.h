#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flexor {

/// A safetensors file, or several of one sharded checkpoint, opened by memory mapping: opening reads only the header,
/// and a tensor's pages come in when it is touched. Tensors share the mapping, which lives as long as any of them.
/// Format: https://github.com/huggingface/safetensors (little-endian header length, JSON header, raw data).
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    at::ScalarType dtype;
    std::vector<int64_t> shape;
  };

  /// @param path  a .safetensors file, or an index of shards (*.safetensors.index.json)
  /// @throws Error(kFile) if it cannot be opened, Error(kCheckpoint) if it is a Git-LFS pointer, truncated, has an
  ///         overlapping or out-of-range tensor, or an unknown dtype
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// In file order (offset order within a shard).
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// A tensor that views the mapped file (private mapping: writing to it does not change the file).
  /// @throws Error(kCheckpoint) naming the nearest tensor if there is none of that name
  at::Tensor get(std::string_view name) const;
  /// All tensors, by name.
  std::map<std::string, at::Tensor> read_all() const;

 private:
  struct Shard;
  std::string path_;
  std::vector<Entry> entries_;
  std::vector<std::pair<size_t, size_t>> places_;  // per entry: shard, byte offset in that shard's data
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::shared_ptr<Shard>> shards_;
};

using NamedTensor = std::pair<std::string, at::Tensor>;

/// Writes tensors in the given order; a tensor is made contiguous and moved to the CPU only while it is written, so the
/// peak memory is one tensor; absent ones (tensor/absent.h) are brought then, one by one. Appears under `path` when
/// complete (temporary name, fsync, rename).
/// @throws Error(kFile) if the folder is not writable or the disk is full; nothing is left behind
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace flexor
