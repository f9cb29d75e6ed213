#include <algorithm>
#include <arrow/io/file.h>
#include <arrow/util/key_value_metadata.h>
#include <filesystem>
#include <parquet/arrow/writer.h>
#include <unordered_map>
#include <utility>

#include "table/arrow_rows.h"
#include "table/arrow_status.h"

namespace flexor::table {

struct RowWriter::State {
  std::string path;
  std::vector<RowColumn> columns;
  std::map<std::string, std::string> metadata;
  std::shared_ptr<arrow::io::FileOutputStream> stream;
  std::shared_ptr<arrow::Schema> schema;
  std::unique_ptr<parquet::arrow::FileWriter> writer;

  void open(const arrow::FieldVector& fields) {
    const auto pairs = metadata.empty()
                           ? nullptr
                           : std::make_shared<arrow::KeyValueMetadata>(
                                 std::unordered_map<std::string, std::string>(metadata.begin(), metadata.end()));
    schema = arrow::schema(fields, pairs);
    const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer = written_value(
        parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), stream, properties, arrow_properties),
        path);
  }

  void check_schema(const arrow::FieldVector& fields, const Rows& rows) const {
    for (size_t i = 0; i < fields.size(); ++i) {
      const auto& expected = schema->field(static_cast<int>(i))->type();
      if (!fields[i]->type()->Equals(*expected)) {
        throw Error(ErrorKind::kData,
                    str_cat("column ", fields[i]->name(), " has type ", fields[i]->type()->ToString(),
                            ", in the files before ", expected->ToString()),
                    rows.path());
      }
    }
  }
};

RowWriter::RowWriter(std::string path, std::vector<RowColumn> columns, std::map<std::string, std::string> metadata)
    : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->columns = std::move(columns);
  state_->metadata = std::move(metadata);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(state_->path).parent_path(), ignored);
  state_->stream = written_value(arrow::io::FileOutputStream::Open(state_->path), state_->path);
}

RowWriter::~RowWriter() {
  if (state_->stream) {
    state_->writer.reset();
    (void)state_->stream->Close();
  }
}

void RowWriter::write(const Rows& rows) {
  State& s = *state_;
  const arrow::Table& table = *rows.state().table;
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector values;
  for (const RowColumn& column : s.columns) {
    const int index = table.schema()->GetFieldIndex(column.name);
    if (index < 0) {
      throw Error(ErrorKind::kData, str_cat("no column ", column.name), rows.path(),
                  "every file of a dataset has the same columns");
    }
    values.push_back(to_form(*table.column(index), column, rows.state()));
    fields.push_back(column.form == RowColumn::Form::kAsIs ? table.schema()->field(index)
                                                           : arrow::field(column.name, values.back()->type()));
  }
  if (!s.writer) {
    s.open(fields);
  } else {
    s.check_schema(fields, rows);
  }
  const auto written = arrow::Table::Make(s.schema, values, table.num_rows());
  check_written(s.writer->WriteTable(*written, std::max<int64_t>(written->num_rows(), 1)), s.path);
}

void RowWriter::close() {
  State& s = *state_;
  if (!s.writer) {
    throw Error(ErrorKind::kData, "no rows were written", s.path);
  }
  check_written(s.writer->Close(), s.path);
  check_written(s.stream->Close(), s.path);
  s.stream.reset();
}

}  // namespace flexor::table
