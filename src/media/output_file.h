#pragma once
#include <cstdint>
#include <string>

struct AVIOContext;

namespace flexor::media {

/// A new file that an FFmpeg muxer writes to, in large pieces that go to the disk while the rest is made. Not atomic:
/// for files in a folder that is. Without close() the file is removed.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  ///< missing folders are made. @throws Error(kFile)
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  AVIOContext* io() { return io_; }
  /// @throws Error(kFile) with the reason of the first write that failed, if one did
  void check() const;
  void close();  ///< @throws Error(kFile)

 private:
  static int write_piece(void* self, const uint8_t* bytes, int size);
  static int64_t seek(void* self, int64_t offset, int whence);

  std::string path_;
  int descriptor_ = -1;
  AVIOContext* io_ = nullptr;
  int64_t position_ = 0, started_ = 0;  ///< bytes before `started_` are on their way to the disk
  int error_ = 0;                       ///< errno of the first write that failed
};

}  // namespace flexor::media
