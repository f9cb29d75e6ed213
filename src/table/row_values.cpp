#include <algorithm>
#include <arrow/api.h>
#include <utility>

#include "table/arrow_chunks.h"
#include "table/arrow_rows.h"
#include "table/row_copy.h"

// What Rows hands out as plain vectors.
namespace flexor::table {
namespace {

const arrow::ChunkedArray& find(const Rows::State& rows, std::string_view column) {
  const int index = rows.table->schema()->GetFieldIndex(std::string(column));
  if (index < 0) {
    throw Error(ErrorKind::kData, str_cat("no column ", column), rows.path);
  }
  return *rows.table->column(index);
}

ColumnPlace place_of(const Rows::State& rows, std::string_view column) {
  return {rows.path, std::string(column), rows.first_row};
}

NumericColumn scalars(const Rows::State& rows, std::string_view column) {
  NumericColumn numbers = to_numeric(find(rows, column), place_of(rows, column));
  if (numbers.width != 1) {
    throw Error(ErrorKind::kData, str_cat("column ", column, " has ", numbers.width, " values a row, expected one"),
                rows.path);
  }
  return numbers;
}

/// For each level of lists: where the elements of element i end, in elements of the level below.
std::vector<int64_t> ends_of(const arrow::Array& list, int64_t& first_value, ArrayPtr& values) {
  std::vector<int64_t> ends;
  with_offsets(list, [&](const ArrayPtr& below, const auto& offset) {
    first_value = list.length() > 0 ? offset(0) : 0;
    int64_t removed = 0;  // values that lie under null lists
    for (int64_t i = 0; i < list.length(); ++i) {
      if (list.IsNull(i) && offset(i + 1) > offset(i)) {
        removed = offset(i + 1) - offset(i);
      }
      ends.push_back(offset(i + 1) - first_value);
    }
    if (removed > 0) {
      throw Error(ErrorKind::kData, "a null list that holds values");
    }
    values = without_extension(below);
  });
  return ends;
}

void append_row_lists(const ArrayPtr& array, const ColumnPlace& place, NumberLists& out) {
  std::vector<int64_t> ends(static_cast<size_t>(array->length()));
  for (size_t i = 0; i < ends.size(); ++i) {
    ends[i] = static_cast<int64_t>(i) + 1;
  }
  ArrayPtr level = array;
  while (is_list(*level->type())) {
    int64_t first = 0;
    ArrayPtr values;
    const std::vector<int64_t> below = ends_of(*level, first, values);
    for (int64_t& end : ends) {
      end = end == 0 ? 0 : below[static_cast<size_t>(end) - 1];
    }
    level = without_extension(values->Slice(first, below.empty() ? 0 : below.back()));
  }
  const NumericColumn flat = to_numeric(arrow::ChunkedArray(level), place);
  const auto before = static_cast<int64_t>(out.values.size());
  std::visit([&](const auto& v) { out.values.insert(out.values.end(), v.begin(), v.end()); }, flat.values);
  for (const int64_t end : ends) {
    out.ends.push_back(before + end);
  }
}

}  // namespace

ColumnInfo Rows::info(std::string_view column) const {
  find(*state_, column);
  return describe(*state_->table->schema()->GetFieldByName(std::string(column)));
}

std::vector<bool> Rows::present(std::string_view column) const {
  std::vector<bool> present;
  for (const ArrayPtr& chunk : find(*state_, column).chunks()) {
    for (int64_t i = 0; i < chunk->length(); ++i) {
      present.push_back(chunk->IsValid(i));
    }
  }
  return present;
}

std::vector<int64_t> Rows::integers(std::string_view column) const {
  NumericColumn numbers = scalars(*state_, column);
  if (auto* whole = std::get_if<std::vector<int64_t>>(&numbers.values)) {
    return std::move(*whole);
  }
  throw Error(ErrorKind::kData, str_cat("column ", column, " does not hold integers"), state_->path);
}

std::vector<double> Rows::numbers(std::string_view column) const {
  const NumericColumn numbers = scalars(*state_, column);
  return std::visit([](const auto& values) { return std::vector<double>(values.begin(), values.end()); },
                    numbers.values);
}

NumericColumn Rows::numeric(std::string_view column) const {
  return to_numeric(find(*state_, column), place_of(*state_, column));
}

std::vector<std::string> Rows::texts(std::string_view column) const {
  return to_texts(find(*state_, column), place_of(*state_, column));
}

std::vector<std::vector<std::string>> Rows::text_lists(std::string_view column) const {
  return to_text_lists(find(*state_, column), place_of(*state_, column));
}

NumberLists Rows::number_lists(std::string_view column) const {
  NumberLists lists;
  for_each_chunk(find(*state_, column), [&](const ArrayPtr& array, int64_t row_base) {
    ColumnPlace place = place_of(*state_, column);
    place.first_row += row_base;
    append_row_lists(array, place, lists);
  });
  return lists;
}

}  // namespace flexor::table
