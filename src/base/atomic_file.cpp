#include "base/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/file_errors.h"
#include "base/stale_temporaries.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor {

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (!folder.empty()) {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) {
      throw_file_error("cannot make the folder", folder.string(), code.value());
    }
  }
  struct stat found{};
  const bool exists = ::stat(path_.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) {
    throw_file_error("cannot write the file", path_, EISDIR);
  }
  if (exists && !S_ISREG(found.st_mode)) {  // a name moved over /dev/null would take the device away from everyone
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      throw_file_error("cannot write to", path_, errno);
    }
    return;
  }
  remove_stale_temporaries(path_);
  temporary_ = temporary_pattern(path_);
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    throw_file_error("cannot write the file", path_, errno);
  }
  try_lock(descriptor_);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);  // mkostemp gives 0600
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    if (!temporary_.empty()) {
      ::unlink(temporary_.c_str());
    }
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      throw_file_error("cannot write the file", path_, errno);
    }
    if (written > 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
}

void AtomicFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno != EINTR) {
      throw_file_error("cannot write the file", path_, errno);
    }
    if (written > 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += written;
    }
  }
}

void AtomicFile::reserve(int64_t size) {
  int code = EINTR;
  while (code == EINTR) {
    code = ::fallocate(descriptor_, 0, 0, size) == 0 ? 0 : errno;
  }
  if (code == EOPNOTSUPP || code == ENOSYS) {  // no such call on this file system: at least the space is looked up
    struct statvfs disk{};
    const bool is_known = ::fstatvfs(descriptor_, &disk) == 0 && disk.f_blocks > 0;
    const bool fits = !is_known || disk.f_bavail >= static_cast<uint64_t>(size) / disk.f_frsize;
    code = !fits ? ENOSPC : ::ftruncate(descriptor_, size) == 0 ? 0 : errno;
  }
  if (code != 0) {
    throw_file_error(str_cat("cannot make a file of ", human_bytes(static_cast<double>(size))), path_, code);
  }
}

void AtomicFile::commit() {
  const bool is_moved = !temporary_.empty();
  if (is_moved && (::fsync(descriptor_) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    throw_file_error("cannot write the file", path_, errno);  // the destructor removes the temporary
  }
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) {
    throw_file_error("cannot write the file", path_, errno);
  }
  if (!is_moved) {
    return;
  }
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace flexor
