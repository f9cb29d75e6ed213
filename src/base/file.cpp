#include "base/file.h"

#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_errors.h"
#include "base/file_probe.h"
#include "base/str_cat.h"

namespace flexor {
namespace {

constexpr std::string_view kLfsStart = "version https://git-lfs";
constexpr off_t kLfsMaxSize = 1024;

/// An open file that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (fd_ >= 0) {
      return;
    }
    const int code = errno;
    if (code == ENOENT || code == ENOTDIR) {
      throw Error(ErrorKind::kFile, "no such file", path,
                  "check the path; a relative one starts at the current folder");
    }
    throw_file_error("cannot open the file", path, code);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct stat stat_of_file(const Descriptor& file, const std::string& path) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) {
    throw_file_error("cannot read the file", path, errno);
  }
  if (S_ISDIR(info.st_mode)) {
    throw Error(ErrorKind::kFile, "expected a file, found a folder", path, "give the path of the file itself");
  }
  return info;
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  const struct stat info = stat_of_file(file, path);
  std::string content;
  constexpr size_t kStep = size_t{1} << 16;
  content.resize(static_cast<size_t>(info.st_size));
  size_t size = 0;
  while (true) {  // to the real end: the size of a pipe or of /proc files is unknown, and a file may grow
    if (size == content.size()) {
      content.resize(size + kStep);
    }
    const ssize_t count = ::read(file.get(), content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw_file_error("cannot read the file", path, errno);
    }
    if (count == 0) {
      content.resize(size);
      return content;
    }
    size += static_cast<size_t>(count);
  }
}

void write_file_atomic(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

bool is_lfs_pointer(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size >= kLfsMaxSize) {
    return false;
  }
  std::string start(kLfsStart.size(), '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == kLfsStart;
}

void check_input_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);  // a named pipe that nobody writes to would be waited for
  if (!S_ISREG(stat_of_file(file, path).st_mode)) {
    throw Error(ErrorKind::kFile, "expected a file, found a pipe, a socket or a device", path,
                "copy its content into a file");
  }
  if (is_lfs_pointer(path)) {
    throw Error(ErrorKind::kFile, "this is a Git-LFS pointer, not the file itself", path,
                "run `git lfs pull` where the file was cloned");
  }
}

void check_writable_folder(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    throw_file_error("cannot make the folder", folder, code.value());
  }
  std::string name = (std::filesystem::path(folder) / ".flexor-write-test-XXXXXX").string();
  const int fd = ::mkstemp(name.data());
  if (fd < 0) {
    throw_file_error("cannot write into the folder", folder, errno);
  }
  const ssize_t written = ::write(fd, "test", 4);
  const int write_code = written == 4 ? 0 : errno;
  ::close(fd);
  ::unlink(name.c_str());
  if (write_code != 0) {
    throw_file_error("cannot write into the folder", folder, write_code);
  }
}

void check_output_file(const std::string& path) {
  if (path.empty()) {
    throw Error(ErrorKind::kUsage, "the name of the file to write is empty");
  }
  if (std::filesystem::is_directory(path)) {
    throw Error(ErrorKind::kFile, "is a folder, expected the name of a file to write", path);
  }
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {  // a device: its folder is none of our business
    if (::access(path.c_str(), W_OK) != 0) {
      throw_file_error("cannot write to", path, errno);
    }
    return;
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  check_writable_folder(folder.empty() ? "." : folder);
}

void check_output_file(const std::string& path, const FileKind& kind) {
  check_output_file(path);
  if (!is_regular_file(path)) {
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::string start;
  for (char c = 0; start.size() < kind.beginning.size() && file.get(c);) {
    if (const auto byte = static_cast<unsigned char>(c); std::isspace(byte) == 0) {
      start += static_cast<char>(std::tolower(byte));
    }
  }
  if (!start.empty() && start != kind.beginning) {
    throw Error(ErrorKind::kFile, str_cat("a file is there that is no ", kind.name, ", and is not overwritten"), path,
                "choose another name, or remove it");
  }
}

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path, bool private_writable) {
  const Descriptor file(path, O_RDONLY);
  const auto size = static_cast<size_t>(stat_of_file(file, path).st_size);
  if (size == 0) {  // nothing to map
    return std::shared_ptr<MappedFile>(new MappedFile(nullptr, 0));
  }
  const int protection = private_writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = ::mmap(nullptr, size, protection, private_writable ? MAP_PRIVATE : MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) {
    throw_file_error("cannot map the file into memory", path, errno);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace flexor
