#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace flexor::recap {

/// Tells changed files from unchanged ones by their content. A file whose size and modification time are the noted ones
/// is not read again: looking at a large run costs little, moving or copying files costs reading them, and another byte
/// gives another hash. All hashes are text of 16 hexadecimal digits.
class FileHashes {
 public:
  /// @param notes  what notes() gave in an earlier run; anything else is ignored
  explicit FileHashes(const Json& notes = {});

  /// "" if there is no such file. @throws Error(kFile), Error(kInterrupted), Error(kTerminated)
  std::string file(const std::string& path);

  /// Of names and contents of all files below `folder`, links followed. "" if there is no file that `takes` takes.
  /// @param takes  by the path below `folder`; empty: all
  std::string folder(const std::string& folder, const std::function<bool(std::string_view name)>& takes = {});

  /// A file or a folder.
  std::string path(const std::string& path);

  /// {path: [bytes, modification time in ns, hash]} of the files that this object was asked about. Files that changed
  /// within the last moments are left out: another change could have the same time.
  Json notes() const;

 private:
  struct Note {
    int64_t size = 0, mtime_ns = 0;
    std::string hash;
  };
  std::map<std::string, Note> earlier_, notes_;
};

/// Of a text, such as a piece of JSON.
std::string hash_of_text(std::string_view text);

}  // namespace flexor::recap
