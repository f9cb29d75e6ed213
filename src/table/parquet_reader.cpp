#include "table/parquet_reader.h"

#include <algorithm>
#include <arrow/io/file.h>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "table/arrow_status.h"
#include "table/arrow_values.h"

namespace flexor::table {
namespace {

constexpr int64_t kBufferBytes = 1 << 18;

void collect_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) {
    leaves.push_back(field.column_index);
  }
  for (const auto& child : field.children) {
    collect_leaves(child, leaves);
  }
}

}  // namespace

std::string_view value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "integer";
    case ValueKind::kFloat32:
      return "float32";
    case ValueKind::kFloat64:
      return "float64";
    case ValueKind::kText:
      return "string";
    case ValueKind::kImage:
      return "image";
    default:
      return "other";
  }
}

double NumericColumn::at(int64_t row, int64_t dim) const {
  return std::visit([&](const auto& v) { return static_cast<double>(v[static_cast<size_t>(row * width + dim)]); },
                    values);
}

struct ParquetReader::State {
  std::string path;
  std::unique_ptr<parquet::arrow::FileReader> file;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<ColumnInfo> columns;

  std::shared_ptr<arrow::Table> read(const std::vector<std::string>& names, int first, int last) const;
  std::vector<int> leaves_of(const std::vector<std::string>& names) const;
  Error no_column(std::string_view name) const;
};

Error ParquetReader::State::no_column(std::string_view name) const {
  std::vector<std::string> known;
  known.reserve(columns.size());
  for (const ColumnInfo& column : columns) {
    known.push_back(column.name);
  }
  return Error(ErrorKind::kData, str_cat("no column ", name, "; the file has ", join_text(known, ", ")), path);
}

/// Leaf columns below the fields. @throws Error(kData) for a name that does not exist
std::vector<int> ParquetReader::State::leaves_of(const std::vector<std::string>& names) const {
  const auto& fields = file->manifest().schema_fields;
  std::vector<int> leaves;
  for (const std::string& name : names) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& candidate) { return candidate.field->name() == name; });
    if (field == fields.end()) {
      throw no_column(name);
    }
    collect_leaves(*field, leaves);
  }
  return leaves;
}

std::shared_ptr<arrow::Table> ParquetReader::State::read(const std::vector<std::string>& names, int first,
                                                         int last) const {
  const std::vector<int> leaves = leaves_of(names);
  const int end = last < 0 ? file->num_row_groups() : last;
  if (first < 0 || first > end || end > file->num_row_groups()) {
    throw Error(ErrorKind::kData,
                str_cat("row groups ", first, " to ", end, " wanted, the file has ", file->num_row_groups()), path);
  }
  std::vector<int> groups(static_cast<size_t>(end - first));
  std::iota(groups.begin(), groups.end(), first);
  const auto doing = "cannot read the Parquet file";
  return guarded(path, doing, [&] { return read_value(file->ReadRowGroups(groups, leaves), path, doing); });
}

ParquetReader::ParquetReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ParquetReader::ParquetReader(ParquetReader&&) noexcept = default;
ParquetReader& ParquetReader::operator=(ParquetReader&&) noexcept = default;
ParquetReader::~ParquetReader() = default;

ParquetReader ParquetReader::open(const std::string& path) {
  check_input_file(path);
  const auto doing = "cannot open the Parquet file";
  auto state = std::make_unique<State>();
  state->path = path;
  guarded(path, doing, [&] {
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties reading;
    reading.enable_buffered_stream();  // not a whole column chunk at once
    reading.set_buffer_size(kBufferBytes);
    check_read(builder.OpenFile(path, /*memory_map=*/false, reading), path, doing);
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_pre_buffer(false);
    state->file = read_value(builder.properties(properties)->Build(), path, doing);
    check_read(state->file->GetSchema(&state->schema), path, doing);
  });
  for (const auto& field : state->schema->fields()) {
    state->columns.push_back(describe(*field));
  }
  return ParquetReader(std::move(state));
}

const std::string& ParquetReader::path() const {
  return state_->path;
}
const std::vector<ColumnInfo>& ParquetReader::columns() const {
  return state_->columns;
}

const ColumnInfo* ParquetReader::find(std::string_view name) const {
  const auto found = std::find_if(state_->columns.begin(), state_->columns.end(),
                                  [&](const ColumnInfo& column) { return column.name == name; });
  return found == state_->columns.end() ? nullptr : &*found;
}

const ColumnInfo& ParquetReader::column(std::string_view name) const {
  if (const ColumnInfo* found = find(name)) {
    return *found;
  }
  throw state_->no_column(name);
}

int64_t ParquetReader::num_rows() const {
  return state_->file->parquet_reader()->metadata()->num_rows();
}
int ParquetReader::num_row_groups() const {
  return state_->file->num_row_groups();
}

int64_t ParquetReader::row_group_rows(int row_group) const {
  return state_->file->parquet_reader()->metadata()->RowGroup(row_group)->num_rows();
}

int64_t ParquetReader::row_group_bytes(int row_group) const {
  return state_->file->parquet_reader()->metadata()->RowGroup(row_group)->total_byte_size();
}

std::string ParquetReader::metadata(std::string_view key) const {
  const auto& metadata = state_->file->parquet_reader()->metadata()->key_value_metadata();
  return metadata ? metadata->Get(std::string(key)).ValueOr("") : "";
}

NumericColumn ParquetReader::read_numeric(std::string_view name, int first, int last) const {
  return std::move(read_numerics({std::string(name)}, first, last)[0]);
}

std::vector<NumericColumn> ParquetReader::read_numerics(const std::vector<std::string>& names, int first,
                                                        int last) const {
  const auto table = state_->read(names, first, last);
  std::vector<NumericColumn> result;
  result.reserve(names.size());
  for (const std::string& name : names) {
    result.push_back(to_numeric(*table->GetColumnByName(name), {path(), name}));
  }
  return result;
}

void ParquetReader::for_each_piece(std::string_view name,
                                   const std::function<void(int64_t, NumericColumn&&)>& body) const {
  for_each_piece({std::string(name)}, 0, num_row_groups(),
                 [&](int64_t row, std::vector<NumericColumn>&& columns) { body(row, std::move(columns[0])); });
}

void ParquetReader::for_each_piece(const std::vector<std::string>& names, int first, int last,
                                   const std::function<void(int64_t, std::vector<NumericColumn>&&)>& body) const {
  const std::vector<int> leaves = state_->leaves_of(names);
  std::vector<int> groups(static_cast<size_t>(last - first));
  std::iota(groups.begin(), groups.end(), first);
  int64_t row = 0;
  for (int group = 0; group < first; ++group) {
    row += row_group_rows(group);
  }
  const auto doing = "cannot read the Parquet file";
  const auto batches = guarded(
      path(), doing, [&] { return read_value(state_->file->GetRecordBatchReader(groups, leaves), path(), doing); });
  while (true) {
    const auto batch = guarded(path(), doing, [&] { return read_value(batches->Next(), path(), doing); });
    if (batch == nullptr) {
      return;
    }
    if (batch->num_rows() == 0) {
      continue;
    }
    std::vector<NumericColumn> columns;
    columns.reserve(names.size());
    for (const std::string& name : names) {  // the batch holds them in the file's order
      columns.push_back(to_numeric(arrow::ChunkedArray(batch->GetColumnByName(name)), {path(), name, row}));
    }
    body(row, std::move(columns));
    row += batch->num_rows();
  }
}

std::vector<std::string> ParquetReader::read_texts(std::string_view name, int first, int last) const {
  const std::string column_name(name);
  return to_texts(*state_->read({column_name}, first, last)->GetColumnByName(column_name), {path(), column_name});
}

std::vector<std::vector<std::string>> ParquetReader::read_text_lists(std::string_view name, int first, int last) const {
  const std::string column_name(name);
  return to_text_lists(*state_->read({column_name}, first, last)->GetColumnByName(column_name), {path(), column_name});
}

std::vector<ImageCell> ParquetReader::read_images(std::string_view name, int first, int last) const {
  const std::string column_name(name);
  return to_images(*state_->read({column_name}, first, last)->GetColumnByName(column_name), {path(), column_name});
}

std::vector<std::vector<double>> ParquetReader::read_ragged(std::string_view name, int first, int last) const {
  const std::string column_name(name);
  return to_ragged(*state_->read({column_name}, first, last)->GetColumnByName(column_name), {path(), column_name});
}

}  // namespace flexor::table
