#pragma once
#include <arrow/api.h>
#include <arrow/extension_type.h>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/str_cat.h"
#include "table/arrow_values.h"

// How table/*.cpp walk through chunked, nested arrays and report what they meet.
namespace flexor::table {

using ArrayPtr = std::shared_ptr<arrow::Array>;

[[noreturn]] inline void bad_value(const ColumnPlace& place, int64_t row, const std::string& what) {
  throw Error(ErrorKind::kData, str_cat("column ", place.column, ": ", what),
              str_cat(place.path, ", row ", place.first_row + row));
}

[[noreturn]] inline void wrong_type(const ColumnPlace& place, const arrow::DataType& found, std::string_view wanted) {
  throw Error(ErrorKind::kData, str_cat("column ", place.column, " has type ", found.ToString(), ", expected ", wanted),
              place.path);
}

inline ArrayPtr without_extension(ArrayPtr array) {
  while (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

inline bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

inline bool is_bytes(const arrow::DataType& type) {
  return type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY;
}

/// Strings, or a dictionary of them.
inline bool is_text(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
         (type.id() == arrow::Type::DICTIONARY &&
          is_text(*static_cast<const arrow::DictionaryType&>(type).value_type()));
}

/// Calls body(values, offset of i, offset of i + 1) once with a function that gives the i-th offset.
template <typename Body>
void with_offsets(const arrow::Array& list, const Body& body) {
  switch (list.type_id()) {
    case arrow::Type::LIST: {
      const auto& typed = static_cast<const arrow::ListArray&>(list);
      return body(typed.values(), [&](int64_t i) { return int64_t{typed.value_offset(i)}; });
    }
    case arrow::Type::LARGE_LIST: {
      const auto& typed = static_cast<const arrow::LargeListArray&>(list);
      return body(typed.values(), [&](int64_t i) { return typed.value_offset(i); });
    }
    default: {
      const auto& typed = static_cast<const arrow::FixedSizeListArray&>(list);
      return body(typed.values(), [&](int64_t i) { return typed.value_offset(i); });
    }
  }
}

/// Calls body(array without extensions, rows before it) for every chunk.
template <typename Body>
void for_each_chunk(const arrow::ChunkedArray& column, const Body& body) {
  int64_t row_base = 0;
  for (const ArrayPtr& chunk : column.chunks()) {
    body(without_extension(chunk), row_base);
    row_base += chunk->length();
  }
}

}  // namespace flexor::table
