#include "table/row_copy.h"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/array/concatenate.h>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "table/arrow_chunks.h"
#include "table/arrow_rows.h"
#include "table/arrow_status.h"

namespace flexor::table {
namespace {

template <typename Builder, typename T>
ArrayPtr build(const std::vector<T>& values) {
  Builder builder;
  if (!builder.AppendValues(values).ok()) {
    throw Error(ErrorKind::kRuntime, "out of memory while writing a Parquet column");
  }
  return builder.Finish().ValueOrDie();
}

ArrayPtr to_array(const std::vector<int64_t>& values) {
  return build<arrow::Int64Builder>(values);
}
ArrayPtr to_array(const std::vector<float>& values) {
  return build<arrow::FloatBuilder>(values);
}
ArrayPtr to_array(const std::vector<double>& values) {
  return build<arrow::DoubleBuilder>(values);
}

/// The images of one chunk with what `paths` name read from disk.
ArrayPtr embedded(const arrow::StructArray& images, const ColumnPlace& place, const std::string& root) {
  const auto cells = to_images(arrow::ChunkedArray(images.Slice(0)), place);
  arrow::BinaryBuilder bytes;
  arrow::StringBuilder paths;
  for (const ImageCell& cell : cells) {
    std::string content = cell.bytes;
    if (content.empty() && !cell.path.empty()) {
      const std::string file = root + "/" + cell.path;
      check_input_file(file);
      content = read_file(file);
    }
    const bool ok = (content.empty() ? bytes.AppendNull() : bytes.Append(content)).ok() &&
                    (cell.path.empty() ? paths.AppendNull() : paths.Append(cell.path)).ok();
    if (!ok) {
      throw Error(ErrorKind::kRuntime, "out of memory while writing images to Parquet");
    }
  }
  const arrow::ArrayVector children = {bytes.Finish().ValueOrDie(), paths.Finish().ValueOrDie()};
  return arrow::StructArray::Make(children, std::vector<std::string>{"bytes", "path"}).ValueOrDie();
}

bool has_missing_bytes(const arrow::Array& array) {
  if (array.type_id() != arrow::Type::STRUCT) {
    return false;
  }
  const auto bytes = static_cast<const arrow::StructArray&>(array).GetFieldByName("bytes");
  return bytes && bytes->null_count() > 0;
}

}  // namespace

Rows::Rows(std::shared_ptr<const State> state) : state_(std::move(state)) {}

int64_t Rows::num_rows() const {
  return state_->table->num_rows();
}
bool Rows::has(std::string_view column) const {
  return state_->table->schema()->GetFieldIndex(std::string(column)) >= 0;
}
std::vector<std::string> Rows::columns() const {
  return state_->table->ColumnNames();
}
const std::string& Rows::path() const {
  return state_->path;
}

void Rows::set(std::string_view column, const Values& values) {
  const ArrayPtr array = std::visit([](const auto& v) { return to_array(v); }, values);
  const auto chunked = std::make_shared<arrow::ChunkedArray>(array);
  const auto field = arrow::field(std::string(column), array->type());
  auto changed = std::make_shared<State>(*state_);
  const int index = changed->table->schema()->GetFieldIndex(field->name());
  changed->table = read_value(index < 0 ? changed->table->AddColumn(changed->table->num_columns(), field, chunked)
                                        : changed->table->SetColumn(index, field, chunked),
                              state_->path, "cannot replace a column");
  state_ = std::move(changed);
}

void Rows::embed_images(std::string_view column, const std::string& root) {
  const std::string name(column);
  const auto images = state_->table->GetColumnByName(name);
  if (!images || std::none_of(images->chunks().begin(), images->chunks().end(),
                              [](const ArrayPtr& chunk) { return has_missing_bytes(*chunk); })) {
    return;
  }
  arrow::ArrayVector chunks;
  for (const ArrayPtr& chunk : images->chunks()) {
    chunks.push_back(embedded(static_cast<const arrow::StructArray&>(*chunk), {state_->path, name}, root));
  }
  auto changed = std::make_shared<State>(*state_);
  const int index = changed->table->schema()->GetFieldIndex(name);
  const auto field = arrow::field(name, chunks[0]->type());
  changed->table = read_value(changed->table->SetColumn(index, field, std::make_shared<arrow::ChunkedArray>(chunks)),
                              state_->path, "cannot replace a column");
  state_ = std::move(changed);
}

Rows Rows::filter(const std::vector<bool>& keep) const {
  std::vector<std::shared_ptr<arrow::Table>> parts;
  for (size_t first = 0; first < keep.size();) {
    size_t last = first;
    while (last < keep.size() && keep[last] == keep[first]) {
      ++last;
    }
    if (keep[first]) {
      parts.push_back(state_->table->Slice(static_cast<int64_t>(first), static_cast<int64_t>(last - first)));
    }
    first = last;
  }
  auto kept = std::make_shared<State>(*state_);
  kept->table = parts.empty() ? state_->table->Slice(0, 0)
                              : read_value(arrow::ConcatenateTables(parts), state_->path, "cannot join rows");
  return Rows(std::move(kept));
}

}  // namespace flexor::table
