#include <arrow/array/concatenate.h>
#include <arrow/compute/cast.h>
#include <map>
#include <utility>

#include "table/arrow_chunks.h"
#include "table/arrow_rows.h"

namespace flexor::table {
namespace {

std::shared_ptr<arrow::DataType> number_type(const std::string& dtype) {
  static const std::map<std::string, std::shared_ptr<arrow::DataType>, std::less<>> kTypes = {
      {"bool", arrow::boolean()},    {"int8", arrow::int8()},       {"int16", arrow::int16()},
      {"int32", arrow::int32()},     {"int64", arrow::int64()},     {"uint8", arrow::uint8()},
      {"uint16", arrow::uint16()},   {"uint32", arrow::uint32()},   {"uint64", arrow::uint64()},
      {"float16", arrow::float16()}, {"float32", arrow::float32()}, {"float", arrow::float32()},
      {"float64", arrow::float64()}, {"double", arrow::float64()}};
  const auto found = kTypes.find(dtype);
  if (found == kTypes.end()) {
    throw Error(ErrorKind::kData, str_cat("no column type for dtype \"", dtype, "\""));
  }
  return found->second;
}

ColumnPlace place_of(const RowColumn& column, const Rows::State& rows) {
  return {rows.path, column.name};
}

ArrayPtr cast(const ArrayPtr& array, const std::shared_ptr<arrow::DataType>& type, const ColumnPlace& place) {
  if (array->type()->Equals(*type)) {
    return array;
  }
  const auto result = arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Safe());
  if (!result.ok()) {
    wrong_type(place, *array->type(), type->ToString());
  }
  return result.ValueUnsafe();
}

/// The values of lists that all hold `width` values. @param row_base  rows before, for messages
ArrayPtr flatten(const ArrayPtr& list, int64_t width, int64_t row_base, const ColumnPlace& place) {
  for (int64_t i = 0; i < list->length() && list->null_count() > 0; ++i) {
    if (list->IsNull(i)) {
      bad_value(place, row_base + i, "null where a list is expected");
    }
  }
  ArrayPtr flat;
  with_offsets(*list, [&](const ArrayPtr& values, const auto& offset) {
    for (int64_t i = 0; i < list->length(); ++i) {
      if (const int64_t found = offset(i + 1) - offset(i); found != width) {
        bad_value(place, row_base + i, str_cat(found, " values, info.json says ", width));
      }
    }
    flat = values->Slice(list->length() > 0 ? offset(0) : 0, list->length() * width);
  });
  return without_extension(flat);
}

ArrayPtr to_numbers(ArrayPtr array, const RowColumn& column, int64_t row_base, const ColumnPlace& place) {
  const auto type = number_type(column.dtype);
  if (is_list(*array->type())) {
    array = flatten(array, column.width, row_base, place);
  } else if (column.width != 1) {
    wrong_type(place, *array->type(), str_cat("lists of ", column.width, " values"));
  }
  if (is_list(*array->type())) {
    wrong_type(place, *array->type(), str_cat("lists of ", column.width, " values, not nested ones"));
  }
  for (int64_t i = 0; i < array->length() && array->null_count() > 0; ++i) {
    if (array->IsNull(i)) {
      bad_value(place, row_base + i / column.width, "null where a number is expected");
    }
  }
  array = cast(array, type, place);
  if (column.width == 1) {
    return array;
  }
  const auto list_type = arrow::fixed_size_list(arrow::field("element", type), static_cast<int32_t>(column.width));
  return arrow::FixedSizeListArray::FromArrays(array, list_type).ValueOrDie();
}

ArrayPtr to_image(const ArrayPtr& array, const ColumnPlace& place) {
  ArrayPtr bytes = array, paths;
  if (array->type_id() == arrow::Type::STRUCT) {
    const auto& typed = static_cast<const arrow::StructArray&>(*array);
    bytes = typed.GetFieldByName("bytes");
    paths = typed.GetFieldByName("path");
  }
  if (!bytes || (!is_bytes(*bytes->type()) && bytes->type_id() != arrow::Type::NA)) {
    wrong_type(place, *array->type(), "struct<bytes: binary, path: string>");
  }
  bytes = cast(bytes, arrow::binary(), place);
  paths =
      paths ? cast(paths, arrow::utf8(), place) : arrow::MakeArrayOfNull(arrow::utf8(), array->length()).ValueOrDie();
  return arrow::StructArray::Make({bytes, paths}, std::vector<std::string>{"bytes", "path"}).ValueOrDie();
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> to_form(const arrow::ChunkedArray& values, const RowColumn& column,
                                             const Rows::State& rows) {
  const ColumnPlace place = place_of(column, rows);
  if (values.num_chunks() == 0) {
    return to_form(arrow::ChunkedArray(arrow::MakeEmptyArray(values.type()).ValueOrDie()), column, rows);
  }
  arrow::ArrayVector chunks;
  for_each_chunk(values, [&](const ArrayPtr& array, int64_t row_base) {
    switch (column.form) {
      case RowColumn::Form::kNumbers:
        chunks.push_back(to_numbers(array, column, rows.first_row + row_base, place));
        break;
      case RowColumn::Form::kText:
        chunks.push_back(cast(array, arrow::utf8(), place));
        break;
      case RowColumn::Form::kImage:
        chunks.push_back(to_image(array, place));
        break;
      case RowColumn::Form::kAsIs:
        chunks.push_back(array);
        break;
    }
  });
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks));
}

}  // namespace flexor::table
