#include "tensor/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor {
namespace {

// PKWARE APPNOTE 4.3; all numbers little-endian.
constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50,
                   kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kCentralSize = 46, kLocalSize = 30;
constexpr size_t kMaxComment = 65535;
constexpr uint16_t kZip64Extra = 1, kStored = 0;
constexpr uint32_t kIn64 = 0xffffffff;  // the number stands in the ZIP64 field

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  [[noreturn]] void damaged(const std::string& why) const {
    throw Error(ErrorKind::kCheckpoint, "damaged archive: " + why, path_, "copy or download the file again");
  }
  std::span<const std::byte> slice(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      damaged(str_cat("bytes ", offset, " to ", offset, "+", count, " of ", bytes_.size(), " are wanted"));
    }
    return bytes_.subspan(offset, count);
  }
  template <typename T>
  T number(uint64_t offset) const {
    T value{};
    std::memcpy(&value, slice(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text(uint64_t offset, uint64_t count) const {
    const auto part = slice(offset, count);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  uint64_t size() const { return bytes_.size(); }
  const std::string& path() const { return path_; }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
};

/// Where the list of members is.
struct Directory {
  uint64_t offset = 0, count = 0;
};

uint64_t find_end(const Reader& file) {
  const uint64_t size = file.size();
  for (uint64_t back = kEndSize; back <= std::min<uint64_t>(size, kEndSize + kMaxComment); ++back) {
    if (file.number<uint32_t>(size - back) == kEndSignature) {
      return size - back;
    }
  }
  throw Error(ErrorKind::kCheckpoint, "no checkpoint of torch.save: not a ZIP archive", file.path(),
              "files of PyTorch before 1.6 have another format: save them again, or convert them to safetensors");
}

Directory find_directory(const Reader& file) {
  const uint64_t end = find_end(file);
  Directory directory{file.number<uint32_t>(end + 16), file.number<uint16_t>(end + 10)};
  if ((directory.offset == kIn64 || directory.count == 0xffff) && end >= kLocator64Size &&
      file.number<uint32_t>(end - kLocator64Size) == kLocator64Signature) {
    const auto end64 = file.number<uint64_t>(end - kLocator64Size + 8);
    file.slice(end64, kEnd64Size);
    if (file.number<uint32_t>(end64) != kEnd64Signature) {
      file.damaged("no ZIP64 record where one is announced");
    }
    directory = {file.number<uint64_t>(end64 + 48), file.number<uint64_t>(end64 + 32)};
  }
  return directory;
}

/// One member of the list.
struct Member {
  std::string name;
  uint16_t method = 0;
  uint64_t packed = 0, size = 0, local = 0;
  uint64_t next = 0;  ///< where the following entry begins
};

/// Numbers that did not fit into 32 bits stand in an extra field, in a fixed order.
void read_zip64(const Reader& file, uint64_t extra, uint64_t length, Member& member) {
  for (uint64_t at = extra; at + 4 <= extra + length;) {
    const auto id = file.number<uint16_t>(at), bytes = file.number<uint16_t>(at + 2);
    if (id == kZip64Extra) {
      uint64_t field = at + 4;
      for (uint64_t* value : {&member.size, &member.packed, &member.local}) {
        if (*value == kIn64 && field + 8 <= at + 4 + bytes) {
          *value = file.number<uint64_t>(field);
          field += 8;
        }
      }
    }
    at += 4 + uint64_t{bytes};
  }
}

Member read_member(const Reader& file, uint64_t at) {
  file.slice(at, kCentralSize);
  if (file.number<uint32_t>(at) != kCentralSignature) {
    file.damaged(str_cat("no member entry at byte ", at));
  }
  const auto name = file.number<uint16_t>(at + 28), extra = file.number<uint16_t>(at + 30),
             comment = file.number<uint16_t>(at + 32);
  Member member{.name = file.text(at + kCentralSize, name),
                .method = file.number<uint16_t>(at + 10),
                .packed = file.number<uint32_t>(at + 20),
                .size = file.number<uint32_t>(at + 24),
                .local = file.number<uint32_t>(at + 42),
                .next = at + kCentralSize + name + extra + comment};
  read_zip64(file, at + kCentralSize + name, extra, member);
  return member;
}

std::span<const std::byte> content(const Reader& file, const Member& member) {
  if (member.method != kStored || member.packed != member.size) {
    throw Error(ErrorKind::kCheckpoint, str_cat("member '", member.name, "' is compressed, torch.save stores it plain"),
                file.path());
  }
  file.slice(member.local, kLocalSize);
  if (file.number<uint32_t>(member.local) != kLocalSignature) {
    file.damaged(str_cat("no member '", member.name, "' at byte ", member.local));
  }
  const uint64_t data =
      member.local + kLocalSize + file.number<uint16_t>(member.local + 26) + file.number<uint16_t>(member.local + 28);
  return file.slice(data, member.size);
}

}  // namespace

ZipArchive ZipArchive::open(const std::string& path) {
  check_input_file(path);
  ZipArchive archive;
  archive.path_ = path;
  archive.mapping_ = MappedFile::open(path, /*private_writable=*/true);
  const Reader file(archive.mapping_->bytes(), path);
  const Directory directory = find_directory(file);
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    const Member member = read_member(file, at);
    at = member.next;
    if (!member.name.ends_with('/')) {
      archive.members_.insert_or_assign(member.name, content(file, member));
    }
  }
  return archive;
}

std::span<const std::byte> ZipArchive::at(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) {
    throw Error(ErrorKind::kCheckpoint, str_cat("the archive has no member '", name, "'"), path_);
  }
  return found->second;
}

}  // namespace flexor
