#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace flexor::data {

/// An eighth of the memory that this process may use (of the machine, or of its control group), at least 256 MiB.
size_t default_image_cache_bytes();

/// Encoded images (PNG, JPEG) that a dataset keeps in Parquet columns, read a row group at a time on demand and kept in
/// a cache of bounded size. Thread-safe.
class ImageStore {
 public:
  /// @param root  images that are files (path without bytes) lie below it
  ImageStore(std::string root, size_t cache_bytes);

  /// @param row  in the whole file
  /// @throws Error(kFile), Error(kData) with file and row
  std::shared_ptr<const std::string> get(const std::string& file, const std::string& column, int64_t row);

 private:
  struct Group {
    std::vector<std::shared_ptr<const std::string>> images;
    size_t bytes = 0;
  };
  using Key = std::tuple<std::string, std::string, int>;  // file, column, row group
  struct Entry {
    std::shared_ptr<const Group> group;
    std::list<Key>::iterator used;
  };

  std::shared_ptr<const std::vector<int64_t>> row_groups(const std::string& file);
  std::shared_ptr<const Group> group(const Key& key);
  std::shared_ptr<const Group> read_group(const Key& key) const;
  void insert_locked(const Key& key, std::shared_ptr<const Group> group);

  const std::string root_;
  const size_t cache_bytes_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const std::vector<int64_t>>> starts_;  ///< first row of each group, and the end
  std::map<Key, Entry> entries_;
  std::list<Key> recent_;  ///< newest first
  size_t bytes_ = 0;
};

}  // namespace flexor::data
