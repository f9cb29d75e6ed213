#include "media/output_file.h"

extern "C" {
#include <libavformat/avio.h>
#include <libavformat/version.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "base/file_errors.h"

namespace flexor::media {
namespace {

constexpr int kBufferBytes = 1 << 20;
constexpr int64_t kPieceBytes = 8 << 20;  ///< what is sent to the disk at once

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;  // a failure shows when the file is opened
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw_file_error("cannot write the file", path_, errno);
  }
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
#if LIBAVFORMAT_VERSION_MAJOR >= 61
  const auto write = &OutputFile::write_piece;
#else  // the bytes were not const
  const auto write = [](void* self, uint8_t* bytes, int size) { return write_piece(self, bytes, size); };
#endif
  io_ = buffer ? avio_alloc_context(buffer, kBufferBytes, /*write_flag=*/1, this, nullptr, write, &OutputFile::seek)
               : nullptr;
  if (!io_) {
    av_free(buffer);
    ::close(descriptor_);
    throw Error(ErrorKind::kRuntime, "out of memory for a video file", path_);
  }
}

OutputFile::~OutputFile() {
  if (io_) {
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    std::remove(path_.c_str());
  }
}

int OutputFile::write_piece(void* self, const uint8_t* bytes, int size) {
  auto& file = *static_cast<OutputFile*>(self);
  for (int done = 0; done < size;) {
    const ssize_t written = ::write(file.descriptor_, bytes + done, static_cast<size_t>(size - done));
    if (written < 0 && errno != EINTR) {
      file.error_ = file.error_ != 0 ? file.error_ : errno;
      return AVERROR(errno);
    }
    done += written > 0 ? static_cast<int>(written) : 0;
  }
  file.position_ += size;
#ifdef SYNC_FILE_RANGE_WRITE
  if (file.position_ - file.started_ >= kPieceBytes) {  // a hint: the disk works while packets are read
    ::sync_file_range(file.descriptor_, file.started_, file.position_ - file.started_, SYNC_FILE_RANGE_WRITE);
    file.started_ = file.position_;
  }
#endif
  return size;
}

int64_t OutputFile::seek(void* self, int64_t offset, int whence) {
  auto& file = *static_cast<OutputFile*>(self);
  if ((whence & AVSEEK_SIZE) != 0) {
    return AVERROR(ENOSYS);
  }
  const off_t place = ::lseek(file.descriptor_, offset, whence & ~AVSEEK_FORCE);
  if (place < 0) {
    return AVERROR(errno);
  }
  file.position_ = place;
  return place;
}

void OutputFile::check() const {
  if (error_ != 0) {
    throw_file_error("cannot write the file", path_, error_);
  }
}

void OutputFile::close() {
  avio_flush(io_);
  check();
#ifdef SYNC_FILE_RANGE_WRITE
  ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int code = errno;
    std::remove(path_.c_str());
    throw_file_error("cannot write the file", path_, code);
  }
}

}  // namespace flexor::media
