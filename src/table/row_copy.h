#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "table/parquet_reader.h"

// Whole rows from one Parquet file to another: all columns, whatever their types, with a few of them replaced.
namespace flexor::table {

/// How a column is written.
struct RowColumn {
  enum class Form {
    kAsIs,     ///< the type that the first rows have: nested lists, structs
    kNumbers,  ///< `dtype`, one value a row (width 1) or fixed_size_list<dtype>[width]
    kText,     ///< string
    kImage,    ///< struct<bytes: binary, path: string>
  };
  std::string name;
  Form form = Form::kAsIs;
  std::string dtype = {};  ///< of kNumbers: "float32", "int64", "bool", ...
  int64_t width = 1;       ///< of kNumbers: values a row
};

/// Numbers of a list column: those of row i end at ends[i]. Nested lists are flattened, a null list is empty.
struct NumberLists {
  std::vector<double> values;
  std::vector<int64_t> ends;
};

/// Some rows of a file with all its columns. A cheap handle; copies share the values.
class Rows {
 public:
  int64_t num_rows() const;
  bool has(std::string_view column) const;
  std::vector<std::string> columns() const;
  const std::string& path() const;  ///< the file they come from

  ColumnInfo info(std::string_view column) const;            ///< @throws Error(kData) if there is none
  std::vector<bool> present(std::string_view column) const;  ///< of each row: not null

  /// @throws Error(kData) unless the column holds one number a row
  std::vector<int64_t> integers(std::string_view column) const;
  std::vector<double> numbers(std::string_view column) const;
  NumericColumn numeric(std::string_view column) const;  ///< lists of one length, flattened
  std::vector<std::string> texts(std::string_view column) const;
  std::vector<std::vector<std::string>> text_lists(std::string_view column) const;
  NumberLists number_lists(std::string_view column) const;

  using Values = std::variant<std::vector<int64_t>, std::vector<float>, std::vector<double>>;
  /// Replaces a column, or adds one. One value a row.
  void set(std::string_view column, const Values& values);
  /// Images that are only named are read from `root`/path, so that the rows stand alone.
  /// @throws Error(kFile) for a missing file
  void embed_images(std::string_view column, const std::string& root);
  /// Only the rows where `keep` is true.
  Rows filter(const std::vector<bool>& keep) const;

  struct State;
  explicit Rows(std::shared_ptr<const State> state);
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Reads ranges of rows of one file, best in ascending order: then each part of the file is read once, a batch at a
/// time, however long its row groups are. Not thread-safe.
class RowReader {
 public:
  /// @throws as ParquetReader::open
  explicit RowReader(const std::string& path);
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;
  ~RowReader();

  const std::string& path() const;
  int64_t num_rows() const;
  int64_t uncompressed_bytes() const;  ///< of all columns, as the footer says
  std::vector<std::string> columns() const;

  /// @throws Error(kData) when the file has fewer rows, or a page is corrupt
  Rows read(int64_t first_row, int64_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes rows of any files in one schema, one row group a call (Snappy, dictionary). Not atomic: for files in a folder
/// that is. Not thread-safe.
class RowWriter {
 public:
  /// @param metadata  key-value pairs of the schema
  /// @throws Error(kFile)
  RowWriter(std::string path, std::vector<RowColumn> columns, std::map<std::string, std::string> metadata = {});
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// @throws Error(kData) for a missing column, another type, lists of another length, nulls among numbers
  void write(const Rows& rows);
  void close();  ///< @throws Error(kFile) for a full disk

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::table
