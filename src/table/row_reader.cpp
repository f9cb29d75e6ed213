#include <algorithm>
#include <arrow/io/file.h>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <utility>

#include "base/file.h"
#include "table/arrow_rows.h"
#include "table/arrow_status.h"

namespace flexor::table {
namespace {

constexpr std::string_view kDoing = "cannot read the Parquet file";
constexpr int64_t kBatchRows = 16384;
constexpr int64_t kLargeGroupBytes = 32 << 20;   ///< beyond it a row group is read a piece at a time
constexpr int64_t kColumnBufferBytes = 1 << 20;  ///< of each column then

std::unique_ptr<parquet::arrow::FileReader> open_file(const std::string& path, bool buffered) {
  auto reader_properties = parquet::default_reader_properties();
  if (buffered) {
    reader_properties.enable_buffered_stream();
    reader_properties.set_buffer_size(kColumnBufferBytes);
  }
  parquet::arrow::FileReaderBuilder builder;
  check_read(builder.OpenFile(path, /*memory_map=*/false, reader_properties), path, kDoing);
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_batch_size(kBatchRows);
  return read_value(builder.properties(properties)->Build(), path, kDoing);
}

}  // namespace

struct RowReader::State {
  std::string path;
  std::unique_ptr<parquet::arrow::FileReader> file;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<int64_t> group_starts;  ///< first row of each row group, and the total at the end
  int64_t bytes = 0;

  std::unique_ptr<arrow::RecordBatchReader> stream;
  int64_t position = 0;                         ///< row that `pending` begins with, or that the stream gives next
  std::shared_ptr<arrow::RecordBatch> pending;  ///< what the last batch has left

  void open() {
    file = open_file(path, /*buffered=*/false);
    const auto metadata = file->parquet_reader()->metadata();
    bool is_large = false;
    group_starts = {0};
    for (int group = 0; group < metadata->num_row_groups(); ++group) {
      const auto row_group = metadata->RowGroup(group);
      int64_t group_bytes = 0;
      for (int column = 0; column < row_group->num_columns(); ++column) {
        group_bytes += row_group->ColumnChunk(column)->total_uncompressed_size();
      }
      bytes += group_bytes;
      is_large = is_large || group_bytes > kLargeGroupBytes;
      group_starts.push_back(group_starts.back() + row_group->num_rows());
    }
    if (is_large) {
      file = open_file(path, /*buffered=*/true);
    }
    check_read(file->GetSchema(&schema), path, kDoing);
  }

  /// Makes the stream begin with the row group that holds `row`.
  void start_at(int64_t row) {
    const auto after = std::upper_bound(group_starts.begin(), group_starts.end() - 1, row);
    const auto group = static_cast<int>(after - group_starts.begin()) - 1;
    std::vector<int> groups(group_starts.size() - 1 - static_cast<size_t>(group));
    std::iota(groups.begin(), groups.end(), group);
    stream = read_value(file->GetRecordBatchReader(groups), path, kDoing);
    position = group_starts[static_cast<size_t>(group)];
    pending.reset();
  }

  bool is_ahead_in_stream(int64_t row) const {
    if (!stream || row < position) {
      return false;
    }
    const auto next_group = std::upper_bound(group_starts.begin(), group_starts.end() - 1, position);
    return next_group == group_starts.end() - 1 || row < *next_group || row == position;
  }

  /// Up to `count` rows from `position` on.
  std::shared_ptr<arrow::RecordBatch> next(int64_t count) {
    while (!pending || pending->num_rows() == 0) {
      check_read(stream->ReadNext(&pending), path, kDoing);
      if (!pending) {
        throw Error(ErrorKind::kData, str_cat("the file ends before row ", position, " of ", group_starts.back()), path,
                    std::string(kBrokenHint));
      }
    }
    const int64_t taken = std::min(count, pending->num_rows());
    auto batch = pending->Slice(0, taken);
    pending = pending->Slice(taken);
    position += taken;
    return batch;
  }
};

RowReader::RowReader(const std::string& path) : state_(std::make_unique<State>()) {
  check_input_file(path);
  state_->path = path;
  guarded(path, kDoing, [&] { state_->open(); });
}
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

const std::string& RowReader::path() const {
  return state_->path;
}
int64_t RowReader::num_rows() const {
  return state_->group_starts.back();
}
int64_t RowReader::uncompressed_bytes() const {
  return state_->bytes;
}
std::vector<std::string> RowReader::columns() const {
  return state_->schema->field_names();
}

Rows RowReader::read(int64_t first_row, int64_t count) {
  State& s = *state_;
  if (first_row < 0 || count < 0 || first_row + count > num_rows()) {
    throw Error(ErrorKind::kData,
                str_cat("rows ", first_row, " to ", first_row + count, " wanted, the file has ", num_rows()), s.path);
  }
  auto rows = std::make_shared<Rows::State>();
  rows->path = s.path;
  rows->first_row = first_row;
  guarded(s.path, kDoing, [&] {
    if (count > 0 && !s.is_ahead_in_stream(first_row)) {
      s.start_at(first_row);
    }
    while (count > 0 && s.position < first_row) {
      s.next(first_row - s.position);
    }
    arrow::RecordBatchVector batches;
    for (int64_t left = count; left > 0;) {
      batches.push_back(s.next(left));
      left -= batches.back()->num_rows();
    }
    rows->table = read_value(arrow::Table::FromRecordBatches(s.schema, batches), s.path, kDoing);
  });
  return Rows(std::move(rows));
}

}  // namespace flexor::table
