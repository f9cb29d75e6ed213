#include "table/arrow_values.h"

#include <algorithm>
#include <arrow/util/float16.h>
#include <limits>

#include "base/str_cat.h"
#include "table/arrow_chunks.h"

namespace flexor::table {
namespace {

int64_t first_null(const arrow::Array& array) {
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      return i;
    }
  }
  return 0;
}

struct Flat {
  ArrayPtr values;
  int64_t width = 1;
};
/// One level of lists taken off; all rows must hold the same number of values.
/// @param elements_per_row  elements of `list` that make up one row of the table, for messages
Flat flatten_regular(const arrow::Array& list, int64_t elements_per_row, int64_t row_base, const ColumnPlace& place) {
  const auto row_of = [&](int64_t element) { return row_base + element / std::max<int64_t>(elements_per_row, 1); };
  if (list.null_count() != 0) {
    bad_value(place, row_of(first_null(list)), "null where a list is expected");
  }
  Flat flat;
  with_offsets(list, [&](const ArrayPtr& values, const auto& offset) {
    const int64_t n = list.length();
    flat.width = n > 0 ? offset(1) - offset(0) : 0;
    for (int64_t i = 1; i < n; ++i) {
      if (const int64_t width = offset(i + 1) - offset(i); width != flat.width) {
        bad_value(place, row_of(i), str_cat(width, " values, the rows before have ", flat.width));
      }
    }
    flat.values = values->Slice(n > 0 ? offset(0) : 0, n * flat.width);
  });
  return flat;
}

template <typename ArrowArray, typename T>
void append_values(const arrow::Array& array, std::vector<T>& out) {
  const auto& typed = static_cast<const ArrowArray&>(array);
  if constexpr (requires { typed.raw_values(); }) {
    out.insert(out.end(), typed.raw_values(), typed.raw_values() + array.length());
  } else {  // bits
    out.reserve(out.size() + static_cast<size_t>(array.length()));
    for (int64_t i = 0; i < array.length(); ++i) {
      out.push_back(static_cast<T>(typed.Value(i)));
    }
  }
}

void append_half(const arrow::Array& array, std::vector<float>& out) {
  const auto& typed = static_cast<const arrow::HalfFloatArray&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    out.push_back(arrow::util::Float16::FromBits(typed.Value(i)).ToFloat());
  }
}

/// @param row_of  row of the table that an element of `array` belongs to
template <typename RowOf>
void append_uint64(const arrow::Array& array, std::vector<int64_t>& out, const ColumnPlace& place,
                   const RowOf& row_of) {
  const auto& typed = static_cast<const arrow::UInt64Array&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (typed.Value(i) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      bad_value(place, row_of(i), str_cat("integer ", typed.Value(i), " is beyond 64 signed bits"));
    }
    out.push_back(static_cast<int64_t>(typed.Value(i)));
  }
}

using NumericValues = decltype(NumericColumn::values);

NumericValues empty_values(const arrow::DataType& type, const ColumnPlace& place) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return std::vector<uint8_t>();
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
      return std::vector<float>();
    case arrow::Type::DOUBLE:
      return std::vector<double>();
    default:
      if (arrow::is_integer(type.id())) {
        return std::vector<int64_t>();
      }
      wrong_type(place, type, "numbers");
  }
}

template <typename RowOf>
void append_leaf(const arrow::Array& array, NumericValues& out, const ColumnPlace& place, const RowOf& row_of) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return append_values<arrow::BooleanArray>(array, std::get<std::vector<uint8_t>>(out));
    case arrow::Type::HALF_FLOAT:
      return append_half(array, std::get<std::vector<float>>(out));
    case arrow::Type::FLOAT:
      return append_values<arrow::FloatArray>(array, std::get<std::vector<float>>(out));
    case arrow::Type::DOUBLE:
      return append_values<arrow::DoubleArray>(array, std::get<std::vector<double>>(out));
    case arrow::Type::INT8:
      return append_values<arrow::Int8Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::INT16:
      return append_values<arrow::Int16Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::INT32:
      return append_values<arrow::Int32Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::INT64:
      return append_values<arrow::Int64Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::UINT8:
      return append_values<arrow::UInt8Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::UINT16:
      return append_values<arrow::UInt16Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::UINT32:
      return append_values<arrow::UInt32Array>(array, std::get<std::vector<int64_t>>(out));
    case arrow::Type::UINT64:
      return append_uint64(array, std::get<std::vector<int64_t>>(out), place, row_of);
    default:
      wrong_type(place, *array.type(), "numbers");
  }
}

}  // namespace

NumericColumn to_numeric(const arrow::ChunkedArray& column, const ColumnPlace& place) {
  const LeafType leaf = leaf_type(column.type());
  NumericColumn result{empty_values(*leaf.type, place), column.length(), leaf.fixed_width.value_or(1)};
  for_each_chunk(column, [&](ArrayPtr array, int64_t row_base) {
    if (array->length() == 0) {
      return;
    }
    int64_t width = 1;
    while (is_list(*array->type())) {
      const Flat flat = flatten_regular(*array, width, row_base, place);
      width *= flat.width;
      array = without_extension(flat.values);
    }
    const auto row_of = [&](int64_t element) { return row_base + element / std::max<int64_t>(width, 1); };
    if (array->null_count() != 0) {
      bad_value(place, row_of(first_null(*array)), "null where a number is expected");
    }
    if (row_base > 0 && width != result.width) {
      bad_value(place, row_base, str_cat(width, " values, the rows before have ", result.width));
    }
    result.width = width;
    append_leaf(*array, result.values, place, row_of);
  });
  return result;
}

std::vector<std::vector<double>> to_ragged(const arrow::ChunkedArray& column, const ColumnPlace& place) {
  std::vector<std::vector<double>> result(static_cast<size_t>(column.length()));
  for_each_chunk(column, [&](const ArrayPtr& array, int64_t row_base) {
    for (int64_t i = 0; i < array->length(); ++i) {
      const arrow::ChunkedArray row(array->Slice(i, 1));
      const NumericColumn numbers = to_numeric(row, {place.path, str_cat(place.column, ", row ", row_base + i)});
      std::visit(
          [&](const auto& values) { result[static_cast<size_t>(row_base + i)].assign(values.begin(), values.end()); },
          numbers.values);
    }
  });
  return result;
}

}  // namespace flexor::table
