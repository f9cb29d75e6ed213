#pragma once
#include <fstream>
#include <string>
#include <string_view>

namespace flexor::curate {

/// A text that is written piece by piece, for folders that appear as a whole (an AtomicFile syncs each file).
class TextFile {
 public:
  explicit TextFile(std::string path);  ///< missing folders are made. @throws Error(kFile)
  void write(std::string_view text);    ///< @throws Error(kFile)
  void close();                         ///< @throws Error(kFile) on a full disk

 private:
  void check() const;
  std::string path_;
  std::ofstream stream_;
};

}  // namespace flexor::curate
