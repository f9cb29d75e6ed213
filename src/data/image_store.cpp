#include "data/image_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/str_cat.h"
#include "table/parquet_reader.h"

namespace flexor::data {

size_t default_image_cache_bytes() {
  constexpr size_t kMin = size_t{256} << 20;
  return std::max(kMin, static_cast<size_t>(memory_limit_bytes()) / 8);
}

ImageStore::ImageStore(std::string root, size_t cache_bytes) : root_(std::move(root)), cache_bytes_(cache_bytes) {}

std::shared_ptr<const std::string> ImageStore::get(const std::string& file, const std::string& column, int64_t row) {
  const auto starts = row_groups(file);
  if (row < 0 || row >= starts->back()) {
    throw Error(ErrorKind::kData, str_cat("row ", row, " wanted, the file has ", starts->back()), file);
  }
  const auto next = std::upper_bound(starts->begin(), starts->end(), row);
  const int number = static_cast<int>(next - starts->begin()) - 1;
  return group({file, column, number})->images[static_cast<size_t>(row - *(next - 1))];
}

std::shared_ptr<const std::vector<int64_t>> ImageStore::row_groups(const std::string& file) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = starts_.find(file); found != starts_.end()) {
      return found->second;
    }
  }
  const auto reader = table::ParquetReader::open(file);
  auto starts = std::make_shared<std::vector<int64_t>>(1, 0);
  for (int i = 0; i < reader.num_row_groups(); ++i) {
    starts->push_back(starts->back() + reader.row_group_rows(i));
  }
  const std::lock_guard lock(mutex_);
  return starts_.emplace(file, std::move(starts)).first->second;
}

std::shared_ptr<const ImageStore::Group> ImageStore::group(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second.used);
      return found->second.group;
    }
  }
  auto group = read_group(key);  // outside the lock: two threads may read the same group, which costs only time
  const std::lock_guard lock(mutex_);
  insert_locked(key, group);
  return group;
}

std::shared_ptr<const ImageStore::Group> ImageStore::read_group(const Key& key) const {
  const auto& [file, column, number] = key;
  const auto reader = table::ParquetReader::open(file);
  auto cells = reader.read_images(column, number, number + 1);
  auto group = std::make_shared<Group>();
  for (table::ImageCell& cell : cells) {
    std::string bytes = cell.bytes.empty() ? read_file(root_ + "/" + cell.path) : std::move(cell.bytes);
    group->bytes += bytes.size();
    group->images.push_back(std::make_shared<const std::string>(std::move(bytes)));
  }
  return group;
}

void ImageStore::insert_locked(const Key& key, std::shared_ptr<const Group> group) {
  if (entries_.contains(key)) {
    return;
  }
  bytes_ += group->bytes;
  recent_.push_front(key);
  entries_[key] = {std::move(group), recent_.begin()};
  while (bytes_ > cache_bytes_ && recent_.size() > 1) {
    const auto oldest = entries_.find(recent_.back());
    bytes_ -= oldest->second.group->bytes;
    entries_.erase(oldest);
    recent_.pop_back();
  }
}

}  // namespace flexor::data
