#pragma once
#include <arrow/api.h>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"

// How table/*.cpp turn Arrow's statuses and parquet-cpp's exceptions into Error.
namespace flexor::table {

inline constexpr std::string_view kBrokenHint = "copy the file again; a writer that was stopped leaves no footer";

/// Arrow's first line only; what follows are its own sources.
inline std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Why a file cannot be read; in plain words where Arrow speaks of its formats' insides.
inline std::string read_failure(const std::string& text) {
  for (const char* inside : {"thrift", "Thrift", "base64", "flatbuffers"}) {
    if (text.find(inside) != std::string::npos) {
      return "its header or footer is damaged";
    }
  }
  return first_line(text);
}

inline void check_read(const arrow::Status& status, const std::string& path, std::string_view doing) {
  if (!status.ok()) {
    throw Error(ErrorKind::kData, str_cat(doing, ": ", read_failure(status.message())), path, std::string(kBrokenHint));
  }
}

template <typename T>
T read_value(arrow::Result<T> result, const std::string& path, std::string_view doing) {
  check_read(result.status(), path, doing);
  return std::move(result).ValueUnsafe();
}

/// parquet-cpp throws its own exceptions from a few places that return no status.
template <typename Body>
auto guarded(const std::string& path, std::string_view doing, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw Error(ErrorKind::kData, str_cat(doing, ": ", read_failure(exception.what())), path, std::string(kBrokenHint));
  }
}

inline void check_written(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) {
    const std::string reason = status.detail() ? ", " + status.detail()->ToString() : "";  // "[errno 28] No space left"
    throw Error(ErrorKind::kFile, str_cat("cannot write the Parquet file: ", first_line(status.message()), reason),
                path, "check the free space and the permissions of the folder");
  }
}

template <typename T>
T written_value(arrow::Result<T> result, const std::string& path) {
  check_written(result.status(), path);
  return std::move(result).ValueUnsafe();
}

}  // namespace flexor::table
