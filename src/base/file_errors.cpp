#include "base/file_errors.h"

#include <cerrno>
#include <cstring>

#include "base/str_cat.h"

namespace flexor {

Error file_error(std::string_view what, const std::string& path, int code) {
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
    case ENOTDIR:
      hint = "a part of the path is a file; choose another folder";
      break;
    case EEXIST:
      hint = "something else has this name, perhaps a link that leads nowhere; remove it or choose another path";
      break;
    case ENOENT:
      hint = "check the path; a relative one starts at the current folder";
      break;
    case EMFILE:
    case ENFILE:
      hint = "raise the limit of open files (ulimit -n)";
      break;
    case EFBIG:
      hint = "raise the limit of file sizes (ulimit -f)";
      break;
    default:
      break;
  }
  std::string reason = std::strerror(code);
  reason[0] = static_cast<char>(reason[0] >= 'A' && reason[0] <= 'Z' ? reason[0] - 'A' + 'a' : reason[0]);
  if (code == EIO) {
    reason = "input/output error";
  }
  return Error(ErrorKind::kFile, str_cat(what, ": ", reason), path, std::string(hint));
}

void throw_file_error(std::string_view what, const std::string& path, int code) {
  throw file_error(what, path, code);
}

}  // namespace flexor
