#include "tensor/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/file_pages.h"
#include "tensor/safetensors_dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors stores little-endian values");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference library
constexpr size_t kLengthBytes = 8;
constexpr std::string_view kIndexSuffix = ".index.json";

[[noreturn]] void fail(const std::string& path, const std::string& what,
                       const std::string& hint = "copy the file again") {
  throw Error(ErrorKind::kCheckpoint, what, path, hint);
}

/// rows x sizes in bytes, or nothing when it overflows or a size is negative.
std::optional<uint64_t> byte_count(const std::vector<int64_t>& shape, uint64_t item_bytes) {
  uint64_t bytes = item_bytes;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

struct HeaderEntry {
  SafetensorsFile::Entry entry;
  uint64_t begin, end;
};

HeaderEntry read_entry(const std::string& name, const Json& json, uint64_t data_bytes, const std::string& path) {
  HeaderEntry result{{name, at::kFloat, {}}, 0, 0};
  const std::string& dtype = json.at("dtype").as_string();
  const auto known = dtype_from_safetensors(dtype);
  if (!known) {
    fail(path, str_cat("tensor '", name, "' has the unknown dtype ", dtype), "supported: " + safetensors_dtypes());
  }
  result.entry.dtype = *known;
  for (const Json& size : json.at("shape").as_array()) {
    result.entry.shape.push_back(size.as_int());
  }
  const Json::Array& offsets = json.at("data_offsets").as_array();
  if (offsets.size() != 2 || offsets[0].as_int() < 0) {
    fail(path, str_cat("tensor '", name, "' has no valid data_offsets"));
  }
  result.begin = static_cast<uint64_t>(offsets[0].as_int());
  result.end = static_cast<uint64_t>(offsets[1].as_int());
  if (result.end < result.begin || result.end > data_bytes) {
    fail(path, str_cat("file is truncated: tensor '", name, "' ends at byte ", result.end,
                       " of the data, the file has ", data_bytes));
  }
  const auto bytes = byte_count(result.entry.shape, c10::elementSize(result.entry.dtype));
  if (bytes != result.end - result.begin) {
    fail(path, str_cat("tensor '", name, "' of shape ", shape_text(result.entry.shape), " and dtype ", dtype,
                       " does not fill its ", result.end - result.begin, " bytes"));
  }
  return result;
}

/// read_entry() whose errors about types name the file and the tensor.
HeaderEntry parse_entry(const std::string& name, const Json& json, uint64_t data_bytes, const std::string& path) {
  try {
    return read_entry(name, json, data_bytes, path);
  } catch (const Error& error) {
    if (!error.where().empty()) {
      throw;
    }
    fail(path, str_cat("header of tensor '", name, "': ", error.what()));
  }
}

/// Sorts the tensors by their place; they fill the data to the last byte, as the reference library demands.
void check_gapless(std::vector<HeaderEntry>& entries, uint64_t data_bytes, const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].begin < end) {
      fail(path, str_cat("tensors '", entries[i - 1].entry.name, "' and '", entries[i].entry.name, "' overlap"));
    }
    if (entries[i].begin > end) {
      fail(path, str_cat("bytes ", end, " to ", entries[i].begin, " of the data, before tensor '",
                         entries[i].entry.name, "', belong to no tensor"));
    }
    end = entries[i].end;
  }
  if (end != data_bytes) {
    fail(path, str_cat("the last tensor ends at byte ", end, " of the data, the file has ", data_bytes));
  }
}

}  // namespace

struct SafetensorsFile::Shard {
  std::shared_ptr<MappedFile> file;
  std::byte* data = nullptr;  // start of the tensor data
  std::vector<HeaderEntry> entries;

  static std::shared_ptr<Shard> open(const std::string& path, std::map<std::string, std::string>& metadata);
};

std::shared_ptr<SafetensorsFile::Shard> SafetensorsFile::Shard::open(const std::string& path,
                                                                     std::map<std::string, std::string>& metadata) {
  check_input_file(path);
  auto shard = std::make_shared<Shard>();
  shard->file = MappedFile::open(path, /*private_writable=*/true);
  remember_mapping(shard->file);
  const size_t size = shard->file->size();
  if (size < kLengthBytes) {
    fail(path, str_cat("file of ", size, " bytes is too short for a safetensors file"));
  }
  auto* bytes = static_cast<std::byte*>(shard->file->data());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes, kLengthBytes);
  if (header_bytes > kMaxHeaderBytes) {
    fail(path, "not a safetensors file (its header length is not plausible)", "name a model.safetensors");
  }
  if (header_bytes > size - kLengthBytes) {
    fail(path,
         str_cat("file is truncated: the header ends at byte ", kLengthBytes + header_bytes, ", the file has ", size));
  }
  shard->data = bytes + kLengthBytes + header_bytes;
  const uint64_t data_bytes = size - kLengthBytes - header_bytes;
  const Json header =
      Json::parse({reinterpret_cast<const char*>(bytes) + kLengthBytes, static_cast<size_t>(header_bytes)}, path);
  if (!header.is_object()) {
    fail(path, str_cat("the header holds ", header.type_name(), ", expected an object"));
  }
  for (const auto& [name, json] : header.as_object()) {
    if (name == "__metadata__") {
      if (!json.is_object()) {
        fail(path, str_cat("__metadata__ holds ", json.type_name(), ", expected an object"));
      }
      for (const auto& [key, value] : json.as_object()) {
        if (!value.is_string()) {
          fail(path, str_cat("__metadata__ holds ", value.type_name(), " under '", key, "', expected text"));
        }
        metadata[key] = value.as_string();
      }
    } else {
      shard->entries.push_back(parse_entry(name, json, data_bytes, path));
    }
  }
  check_gapless(shard->entries, data_bytes, path);
  return shard;
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile result;
  result.path_ = path;
  std::vector<std::string> shard_paths;
  if (path.ends_with(kIndexSuffix)) {
    const Json index = Json::read_file(path);
    std::set<std::string> names;
    for (const auto& [tensor, file] : index.at("weight_map").as_object()) {
      names.insert(file.as_string());
    }
    for (const std::string& name : names) {
      shard_paths.push_back((std::filesystem::path(path).parent_path() / name).string());
    }
  } else {
    shard_paths.push_back(path);
  }
  for (const std::string& shard_path : shard_paths) {
    const size_t shard_index = result.shards_.size();
    result.shards_.push_back(Shard::open(shard_path, result.metadata_));
    for (const HeaderEntry& item : result.shards_.back()->entries) {
      if (!result.by_name_.emplace(item.entry.name, result.entries_.size()).second) {
        fail(shard_path, str_cat("tensor '", item.entry.name, "' is in the file or its shards twice"));
      }
      result.entries_.push_back(item.entry);
      result.places_.emplace_back(shard_index, item.begin);
    }
  }
  return result;
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

at::Tensor SafetensorsFile::get(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) {
      names.push_back(entry.name);
    }
    const auto close = nearest(name, names);
    constexpr size_t kShown = 8;
    if (names.size() > kShown) {
      names.resize(kShown);
      names.emplace_back("...");
    }
    throw Error(ErrorKind::kCheckpoint, str_cat("there is no tensor '", name, "' among ", entries_.size()), path_,
                !close.empty()  ? "the nearest name is '" + close + "'"
                : names.empty() ? "the file holds no tensors"
                                : "is it the right file? it holds " + join_text(names, ", "));
  }
  const Entry& entry = entries_[found->second];
  const auto [shard_index, offset] = places_[found->second];
  const std::shared_ptr<Shard>& shard = shards_[shard_index];
  std::byte* data = shard->data + offset;
  const auto options = at::TensorOptions().dtype(entry.dtype);
  const size_t item_bytes = c10::elementSize(entry.dtype);
  if (reinterpret_cast<uintptr_t>(data) % item_bytes != 0) {  // a writer that does not pad its header
    Tensor copy = at::empty(entry.shape, options);
    std::memcpy(copy.mutable_data_ptr(), data, copy.nbytes());
    return copy;
  }
  return at::from_blob(data, entry.shape, [file = shard->file](void*) {}, options);
}

std::map<std::string, at::Tensor> SafetensorsFile::read_all() const {
  std::map<std::string, at::Tensor> tensors;
  for (const Entry& entry : entries_) {
    tensors[entry.name] = get(entry.name);
  }
  return tensors;
}

}  // namespace flexor
