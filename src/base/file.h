#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace flexor {

/// Whole file as bytes. @throws Error(kFile) if missing, a folder, or unreadable
std::string read_file(const std::string& path);

/// The file appears complete or not at all: written beside `path` under a temporary name, fsynced, renamed, and the
/// folder fsynced. Missing parent folders are made. @throws Error(kFile) (not writable, disk full); leaves nothing
/// behind
void write_file_atomic(const std::string& path, std::string_view content);

/// True for a Git-LFS pointer: a text file of under 1 KiB that starts with "version https://git-lfs".
bool is_lfs_pointer(const std::string& path);

/// Also refuses what has no end to seek to: pipes, sockets, devices.
/// @throws Error(kFile) "no such file" / "is a Git-LFS pointer, not the file itself" (hint: git lfs pull) / unreadable
void check_input_file(const std::string& path);

/// @throws Error(kFile) if a file cannot be made in `folder` (which is made when missing)
void check_writable_folder(const std::string& folder);

/// Before the work: @throws Error(kFile) if `path` is a folder, or if no file can be made beside it; Error(kUsage) if
/// it is empty
void check_output_file(const std::string& path);

/// How files of a kind are known.
struct FileKind {
  std::string_view name;       ///< "page"
  std::string_view beginning;  ///< in lower case and without white space
};
inline constexpr FileKind kHtmlPage{"page", "<!doctypehtml>"};

/// The same, and a file of another kind that is there is not overwritten: @throws Error(kFile)
void check_output_file(const std::string& path, const FileKind& kind);

/// A folder that appears complete or not at all: fill path(), then commit() fsyncs its files and renames it to
/// `target`. Without commit() the destructor removes it. A leftover of a killed run is removed by the next StagedFolder
/// for the same target.
class StagedFolder {
 public:
  explicit StagedFolder(std::string target);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::string& path() const { return path_; }
  void commit();      ///< an existing `target` is replaced. @throws Error(kFile)
  void commit_new();  ///< an existing `target` is an error, also one that appeared meanwhile. @throws Error(kFile)

 private:
  void finish();

  std::string target_, path_;
  int lock_ = -1;  ///< descriptor of the folder, locked while this object lives
  bool committed_ = false;
};

/// Read-only (or private copy-on-write) memory mapping of a whole file.
class MappedFile {
 public:
  /// @throws Error(kFile)
  static std::shared_ptr<MappedFile> open(const std::string& path, bool private_writable = false);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}
  void* data_;
  size_t size_;
};

}  // namespace flexor
