#include "table/parquet_writer.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/key_value_metadata.h>
#include <cerrno>
#include <filesystem>
#include <parquet/arrow/writer.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "table/arrow_status.h"

namespace flexor::table {
namespace {

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> plain_array(const std::vector<T>& values) {
  Builder builder;
  for (const T& value : values) {
    if (!builder.Append(value).ok()) {
      throw Error(ErrorKind::kRuntime, "out of memory while writing a Parquet column");
    }
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> leaf_array(const std::vector<uint8_t>& v) {
  return plain_array<arrow::BooleanBuilder>(v);
}
std::shared_ptr<arrow::Array> leaf_array(const std::vector<int64_t>& v) {
  return plain_array<arrow::Int64Builder>(v);
}
std::shared_ptr<arrow::Array> leaf_array(const std::vector<float>& v) {
  return plain_array<arrow::FloatBuilder>(v);
}
std::shared_ptr<arrow::Array> leaf_array(const std::vector<double>& v) {
  return plain_array<arrow::DoubleBuilder>(v);
}
std::shared_ptr<arrow::Array> leaf_array(const std::vector<std::string>& v) {
  return plain_array<arrow::StringBuilder>(v);
}

std::shared_ptr<arrow::Array> list_array(const std::vector<int32_t>& offsets,
                                         const std::shared_ptr<arrow::Array>& values) {
  return arrow::ListArray::FromArrays(*plain_array<arrow::Int32Builder>(offsets), *values).ValueOrDie();
}

/// Lists of the column's nesting around the leaves.
std::shared_ptr<arrow::Array> nested_array(const WriteColumn& column, std::shared_ptr<arrow::Array> values) {
  for (size_t level = column.nesting.size(); level-- > 1;) {
    std::vector<int32_t> offsets;
    for (int64_t i = 0; i <= values->length(); i += column.nesting[level]) {
      offsets.push_back(static_cast<int32_t>(i));
    }
    values = list_array(offsets, values);
  }
  const auto size = static_cast<int32_t>(column.nesting.at(0));
  std::vector<int32_t> offsets = {0};
  if (column.present.empty()) {
    for (int64_t i = size; i <= values->length(); i += size) {
      offsets.push_back(static_cast<int32_t>(i));
    }
  }
  for (const uint8_t present : column.present) {
    offsets.push_back(offsets.back() + (present != 0 ? size : 0));
  }
  if (offsets.back() != values->length()) {
    throw Error(ErrorKind::kData,
                str_cat("column ", column.name, ": ", values->length(), " lists, expected ", offsets.back()));
  }
  return list_array(offsets, values);
}

std::shared_ptr<arrow::Array> with_nulls(const std::shared_ptr<arrow::Array>& array,
                                         const std::vector<uint8_t>& present) {
  if (present.empty()) {
    return array;
  }
  const auto valid = plain_array<arrow::BooleanBuilder>(present);
  auto data = array->data()->Copy();
  data->buffers[0] = valid->data()->buffers[1];
  data->null_count = arrow::kUnknownNullCount;
  return arrow::MakeArray(data);
}

template <typename T>
std::shared_ptr<arrow::Array> column_array(const WriteColumn& column, const std::vector<T>& values) {
  auto leaf = leaf_array(values);
  if (column.layout == Layout::kScalar) {
    return leaf;
  }
  if (column.layout == Layout::kNested) {
    return nested_array(column, leaf);
  }
  if (column.width < 1 || leaf->length() % column.width != 0) {
    throw Error(ErrorKind::kData,
                str_cat("column ", column.name, ": ", leaf->length(), " values are not rows of ", column.width));
  }
  if (column.layout == Layout::kFixedList) {
    return arrow::FixedSizeListArray::FromArrays(leaf, static_cast<int32_t>(column.width)).ValueOrDie();
  }
  std::vector<int32_t> offsets;
  for (int64_t i = 0; i <= leaf->length(); i += column.width) {
    offsets.push_back(static_cast<int32_t>(i));
  }
  return list_array(offsets, leaf);
}

std::shared_ptr<arrow::Array> column_array(const WriteColumn&, const WriteColumn::TextLists& lists) {
  std::vector<int32_t> offsets = {0};
  std::vector<std::string> flat;
  for (const auto& list : lists) {
    flat.insert(flat.end(), list.begin(), list.end());
    offsets.push_back(static_cast<int32_t>(flat.size()));
  }
  return list_array(offsets, leaf_array(flat));
}

std::shared_ptr<arrow::Array> column_array(const WriteColumn&, const std::vector<ImageCell>& cells) {
  arrow::BinaryBuilder bytes;
  arrow::StringBuilder paths;
  for (const ImageCell& cell : cells) {
    const bool ok = (cell.bytes.empty() ? bytes.AppendNull() : bytes.Append(cell.bytes)).ok() &&
                    (cell.path.empty() ? paths.AppendNull() : paths.Append(cell.path)).ok();
    if (!ok) {
      throw Error(ErrorKind::kRuntime, "out of memory while writing images to Parquet");
    }
  }
  const arrow::ArrayVector children = {bytes.Finish().ValueOrDie(), paths.Finish().ValueOrDie()};
  return arrow::StructArray::Make(children, std::vector<std::string>{"bytes", "path"}).ValueOrDie();
}

std::shared_ptr<arrow::Table> to_table(const std::vector<WriteColumn>& columns, const std::string& path) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const WriteColumn& column : columns) {
    const auto array = std::visit([&](const auto& values) { return column_array(column, values); }, column.values);
    arrays.push_back(with_nulls(array, column.present));
    fields.push_back(arrow::field(column.name, arrays.back()->type()));
    if (arrays.back()->length() != arrays.front()->length()) {
      throw Error(ErrorKind::kData,
                  str_cat("column ", column.name, " has ", arrays.back()->length(), " rows, column ",
                          columns.front().name, " has ", arrays.front()->length()),
                  path);
    }
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

}  // namespace

struct ParquetWriter::State {
  std::string path, temporary;
  std::map<std::string, std::string> metadata;
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::io::FileOutputStream> stream;
  std::unique_ptr<parquet::arrow::FileWriter> writer;

  void open(const arrow::Schema& first) {
    const auto pairs = metadata.empty()
                           ? nullptr
                           : std::make_shared<arrow::KeyValueMetadata>(
                                 std::unordered_map<std::string, std::string>(metadata.begin(), metadata.end()));
    schema = arrow::schema(first.fields(), pairs);
    const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer = written_value(
        parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), stream, properties, arrow_properties),
        path);
  }
};

ParquetWriter::ParquetWriter(std::string path, std::map<std::string, std::string> metadata)
    : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->metadata = std::move(metadata);
  state_->temporary = str_cat(state_->path, ".tmp-", ::getpid());
  std::error_code ignored;
  if (const auto parent = std::filesystem::path(state_->path).parent_path(); !parent.empty()) {
    std::filesystem::create_directories(parent, ignored);  // a failure shows when the file is opened
  }
  state_->stream = written_value(arrow::io::FileOutputStream::Open(state_->temporary), state_->path);
}

ParquetWriter::~ParquetWriter() {
  if (state_->stream) {
    state_->writer.reset();
    (void)state_->stream->Close();
    std::error_code ignored;
    std::filesystem::remove(state_->temporary, ignored);
  }
}

void ParquetWriter::write_row_group(const std::vector<WriteColumn>& columns) {
  const auto table = to_table(columns, state_->path);
  if (!state_->writer) {
    state_->open(*table->schema());
  } else if (!state_->schema->Equals(*table->schema(), /*check_metadata=*/false)) {
    throw Error(
        ErrorKind::kData,
        str_cat("row group has columns ", table->schema()->ToString(), ", the file ", state_->schema->ToString()),
        state_->path);
  }
  check_written(state_->writer->WriteTable(*table, std::max<int64_t>(table->num_rows(), 1)), state_->path);
}

void ParquetWriter::close() {
  if (!state_->writer) {
    throw Error(ErrorKind::kData, "no row group was written", state_->path);
  }
  check_written(state_->writer->Close(), state_->path);
  check_written(state_->stream->Flush(), state_->path);
  const int descriptor = state_->stream->file_descriptor();
  if (::fsync(descriptor) != 0 && errno != EINVAL) {
    throw Error(ErrorKind::kFile, str_cat("cannot write the Parquet file: ", std::generic_category().message(errno)),
                state_->path);
  }
  check_written(state_->stream->Close(), state_->path);
  state_->stream.reset();
  std::error_code code;
  std::filesystem::rename(state_->temporary, state_->path, code);
  if (code) {
    std::error_code ignored;
    std::filesystem::remove(state_->temporary, ignored);
    throw Error(ErrorKind::kFile, str_cat("cannot rename the finished file: ", code.message()), state_->path);
  }
}

void write_parquet(const std::string& path, const std::vector<WriteColumn>& columns,
                   std::map<std::string, std::string> metadata) {
  ParquetWriter writer(path, std::move(metadata));
  writer.write_row_group(columns);
  writer.close();
}

}  // namespace flexor::table
