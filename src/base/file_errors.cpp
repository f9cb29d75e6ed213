#include "base/file_errors.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor {

void throw_file_error(std::string_view what, const std::string& path, int code) {
  std::string_view hint;
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      hint = "free some space or choose another folder";
      break;
    case EACCES:
    case EPERM:
      hint = "check the permissions, or choose another path";
      break;
    case EROFS:
      hint = "the file system is mounted read-only; choose another folder";
      break;
    case ELOOP:
      hint = "a link of the path points back to itself; remove it";
      break;
    case ENAMETOOLONG:
      hint = "choose a shorter path";
      break;
    default:
      break;
  }
  std::string reason = std::strerror(code);
  reason[0] = static_cast<char>(reason[0] >= 'A' && reason[0] <= 'Z' ? reason[0] - 'A' + 'a' : reason[0]);
  if (code == EIO) {
    reason = "input/output error";
  }
  throw Error(ErrorKind::kFile, str_cat(what, ": ", reason), path, std::string(hint));
}

}  // namespace flexor
