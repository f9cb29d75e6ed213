#include "curate/text_file.h"

#include <cerrno>
#include <filesystem>
#include <ios>
#include <system_error>
#include <utility>

#include "base/file_errors.h"

namespace flexor::curate {

TextFile::TextFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  errno = 0;
  stream_.open(path_, std::ios::binary | std::ios::trunc);
  check();
}

void TextFile::check() const {
  if (!stream_) {
    throw_file_error("cannot write the file", path_, errno != 0 ? errno : EIO);
  }
}

void TextFile::write(std::string_view text) {
  errno = 0;
  stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
  check();
}

void TextFile::close() {
  errno = 0;
  stream_.close();
  check();
}

}  // namespace flexor::curate
