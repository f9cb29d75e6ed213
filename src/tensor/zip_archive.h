#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace flexor {

/// A ZIP file whose members are stored without compression, as torch.save writes it; ZIP64 included. Members are views
/// of the mapped file, which lives as long as any copy of the archive.
class ZipArchive {
 public:
  /// @throws Error(kFile) if it cannot be opened, Error(kCheckpoint) if it is no such archive or damaged
  static ZipArchive open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::shared_ptr<MappedFile>& mapping() const { return mapping_; }
  using Members = std::map<std::string, std::span<const std::byte>, std::less<>>;
  const Members& members() const { return members_; }  ///< by name
  /// @throws Error(kCheckpoint) if there is none of that name
  std::span<const std::byte> at(std::string_view name) const;

 private:
  std::string path_;
  std::shared_ptr<MappedFile> mapping_;
  Members members_;
};

}  // namespace flexor
