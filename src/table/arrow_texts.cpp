#include "table/arrow_chunks.h"
#include "table/arrow_values.h"

namespace flexor::table {
namespace {

/// Text of element i of a string-like array, dictionary-encoded or not.
std::string text_at(const arrow::Array& array, int64_t i, const ColumnPlace& place) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetString(i);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetString(i);
    case arrow::Type::DICTIONARY: {
      const auto& typed = static_cast<const arrow::DictionaryArray&>(array);
      return text_at(*typed.dictionary(), typed.GetValueIndex(i), place);
    }
    default:
      wrong_type(place, *array.type(), "text");
  }
}

}  // namespace

std::vector<std::string> to_texts(const arrow::ChunkedArray& column, const ColumnPlace& place) {
  std::vector<std::string> result;
  result.reserve(static_cast<size_t>(column.length()));
  for_each_chunk(column, [&](const ArrayPtr& array, int64_t row_base) {
    for (int64_t i = 0; i < array->length(); ++i) {
      if (array->IsNull(i)) {
        bad_value(place, row_base + i, "null where a text is expected");
      }
      result.push_back(text_at(*array, i, place));
    }
  });
  return result;
}

std::vector<std::vector<std::string>> to_text_lists(const arrow::ChunkedArray& column, const ColumnPlace& place) {
  if (!is_list(*column.type())) {
    wrong_type(place, *column.type(), "a list of texts");
  }
  std::vector<std::vector<std::string>> result(static_cast<size_t>(column.length()));
  for_each_chunk(column, [&](const ArrayPtr& array, int64_t row_base) {
    with_offsets(*array, [&](const ArrayPtr& values, const auto& offset) {
      for (int64_t i = 0; i < array->length(); ++i) {
        if (array->IsNull(i)) {
          bad_value(place, row_base + i, "null where a list of texts is expected");
        }
        for (int64_t k = offset(i); k < offset(i + 1); ++k) {
          if (values->IsNull(k)) {
            bad_value(place, row_base + i, "null where a text is expected");
          }
          result[static_cast<size_t>(row_base + i)].push_back(text_at(*values, k, place));
        }
      }
    });
  });
  return result;
}

std::vector<ImageCell> to_images(const arrow::ChunkedArray& column, const ColumnPlace& place) {
  std::vector<ImageCell> result(static_cast<size_t>(column.length()));
  for_each_chunk(column, [&](const ArrayPtr& array, int64_t row_base) {
    ArrayPtr bytes = array, paths;
    if (array->type_id() == arrow::Type::STRUCT) {
      const auto& typed = static_cast<const arrow::StructArray&>(*array);
      bytes = typed.GetFieldByName("bytes");
      paths = typed.GetFieldByName("path");
    }
    if (!bytes || !is_bytes(*bytes->type()) || (paths && !is_text(*paths->type()))) {
      wrong_type(place, *array->type(), "struct<bytes: binary, path: string>");
    }
    for (int64_t i = 0; i < array->length(); ++i) {
      ImageCell& cell = result[static_cast<size_t>(row_base + i)];
      if (array->IsNull(i)) {
        bad_value(place, row_base + i, "null where an image is expected");
      }
      if (!bytes->IsNull(i)) {
        cell.bytes = text_at(*bytes, i, place);
      }
      if (paths && !paths->IsNull(i)) {
        cell.path = text_at(*paths, i, place);
      }
      if (cell.bytes.empty() && cell.path.empty()) {
        bad_value(place, row_base + i, "image without bytes and without path");
      }
    }
  });
  return result;
}

}  // namespace flexor::table
