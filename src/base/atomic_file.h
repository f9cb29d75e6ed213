#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flexor {

/// A file that is written piece by piece and appears under its name complete or not at all: bytes go to a temporary
/// name beside it; commit() fsyncs, renames and fsyncs the folder. Without commit() the destructor removes the
/// temporary. Missing parent folders are made. What is there and is neither a file nor a folder (/dev/stdout,
/// /dev/null, a pipe) is written into as it stands.
class AtomicFile {
 public:
  /// @throws Error(kFile)
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// @throws Error(kFile) when the disk is full or the device fails
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// At a place of its own, past the end too; several threads may do so at once. Does not move where write() goes on.
  void write_at(int64_t offset, std::span<const std::byte> bytes);
  /// Makes the file `size` bytes long with its room on the disk taken, so that a full disk shows now.
  void reserve(int64_t size);
  void commit();

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
};

}  // namespace flexor
