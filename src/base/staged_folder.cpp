#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_errors.h"
#include "base/log.h"
#include "base/stale_temporaries.h"

namespace flexor {
namespace {

void sync_path(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) {
    throw_file_error("cannot open what was just written", path, errno);
  }
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (result != 0 && code != EINVAL) {  // EINVAL: the file system has no fsync for folders
    throw_file_error("cannot write the file to disk", path, code);
  }
}

/// Everything of the folder's file system at once. False where the system cannot.
bool sync_file_system(const std::string& folder) {
#ifdef __linux__
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const int result = ::syncfs(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (result != 0 && (code == EIO || code == ENOSPC || code == EDQUOT)) {
    throw_file_error("cannot write the folder to disk", folder, code);
  }
  return result == 0;
#else
  (void)folder;
  return false;
#endif
}

bool has_many_files(const std::string& folder) {
  constexpr int kMany = 64;  // each costs a write of the file system's journal
  int count = 0;
  for (auto it = std::filesystem::recursive_directory_iterator(folder);
       it != std::filesystem::recursive_directory_iterator() && count < kMany; ++it) {
    ++count;
  }
  return count >= kMany;
}

void sync_tree(const std::string& folder) {
  if (has_many_files(folder) && sync_file_system(folder)) {
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) {
      sync_path(entry.path().string(), O_RDONLY);
    } else if (entry.is_directory() && !entry.is_symlink()) {
      sync_path(entry.path().string(), O_RDONLY | O_DIRECTORY);
    }
  }
  sync_path(folder, O_RDONLY | O_DIRECTORY);
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void rename_or_throw(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    throw_file_error("cannot give the folder its name", to, errno);
  }
}

/// Never over something, even if it appears at this moment.
void rename_new(const std::string& from, const std::string& to) {
  const auto exists = [&]() -> Error {
    return {ErrorKind::kFile, "the folder to be written exists already", to, "choose another name, or remove it first"};
  };
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return;
  }
  if (errno == EEXIST) {
    throw exists();
  }
  if (errno != EINVAL && errno != ENOSYS) {  // a file system without this kind of rename
    throw_file_error("cannot give the folder its name", to, errno);
  }
#endif
  if (std::filesystem::exists(std::filesystem::symlink_status(to))) {
    throw exists();
  }
  rename_or_throw(from, to);
}

/// `target` is the new or the old folder at any moment; afterwards the old one is gone.
void replace_folder(const std::string& staged, const std::string& target) {
  std::string old = staged;
#ifdef RENAME_EXCHANGE
  const bool exchanged = ::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0;
#else
  const bool exchanged = false;
#endif
  if (!exchanged) {  // a file system without exchange: after a crash between the two renames the old one stands aside
    old = target + ".old";
    std::error_code ignored;
    std::filesystem::remove_all(old, ignored);
    rename_or_throw(target, old);
    rename_or_throw(staged, target);
  }
  std::error_code ignored;  // a leftover goes with the next StagedFolder of this target
  std::filesystem::remove_all(old, ignored);
}

}  // namespace

StagedFolder::StagedFolder(std::string target) : target_(std::move(target)) {
  while (target_.size() > 1 && target_.ends_with('/')) {
    target_.pop_back();
  }
  std::error_code code;
  std::filesystem::create_directories(parent_of(target_), code);
  if (code) {
    throw_file_error("cannot make the folder", parent_of(target_), code.value());
  }
  remove_stale_temporaries(target_);
  constexpr int kAttempts = 16;  // between mkdtemp and the lock another run may take the folder for a leftover
  for (int attempt = 0; attempt < kAttempts && lock_ < 0; ++attempt) {
    std::string name = temporary_pattern(target_);
    if (::mkdtemp(name.data()) == nullptr) {
      throw_file_error("cannot make the folder", target_, errno);
    }
    const int descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat by_name{};
    if (descriptor >= 0 && try_lock(descriptor) && ::stat(name.c_str(), &by_name) == 0) {
      lock_ = descriptor;
      path_ = name;
    } else if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  if (lock_ < 0) {
    throw_file_error("cannot make the folder", target_, EBUSY);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(path_.c_str(), 0777 & ~mask);  // mkdtemp gives 0700
}

StagedFolder::~StagedFolder() {
  if (!committed_) {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
    if (code) {
      log_warn("temporary folder not removed", {{"path", path_}, {"reason", code.message()}});
    }
  }
  ::close(lock_);
}

void StagedFolder::commit() {
  sync_tree(path_);
  if (std::filesystem::exists(std::filesystem::symlink_status(target_))) {
    replace_folder(path_, target_);
  } else {
    rename_or_throw(path_, target_);
  }
  finish();
}

void StagedFolder::commit_new() {
  sync_tree(path_);
  rename_new(path_, target_);
  finish();
}

void StagedFolder::finish() {
  committed_ = true;
  sync_path(parent_of(target_), O_RDONLY | O_DIRECTORY);
}

}  // namespace flexor
