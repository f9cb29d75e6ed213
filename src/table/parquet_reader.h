#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flexor::table {

/// Type of the innermost values of a column; lists of any depth around them are in ColumnInfo::depth.
enum class ValueKind { kBool, kInt, kFloat32, kFloat64, kText, kImage, kOther };
std::string_view value_kind_name(ValueKind kind);

struct ColumnInfo {
  std::string name;
  ValueKind kind = ValueKind::kOther;
  int depth = 0;                       ///< nested lists around the values, fixed or variable, extension types included
  std::optional<int64_t> fixed_width;  ///< values a row where the type says so (1 for depth 0)
  std::string type_text;               ///< as Arrow prints it, for messages
};

/// Values of one numeric column, row-major [rows, width]. Integers of every width are int64, half floats are float32,
/// booleans are 0 and 1.
struct NumericColumn {
  std::variant<std::vector<uint8_t>, std::vector<int64_t>, std::vector<float>, std::vector<double>> values;
  int64_t rows = 0;
  int64_t width = 1;

  double at(int64_t row, int64_t dim = 0) const;
};

/// One cell of an image column: struct<bytes, path>, or bytes alone. `bytes` is empty when only `path` is given.
struct ImageCell {
  std::string bytes;
  std::string path;
};

/// Reads the columns of one Parquet file as plain vectors. Not thread-safe; open one per thread.
/// Every read takes row groups [first, last); the default is the whole file.
class ParquetReader {
 public:
  /// @throws Error(kFile) if missing or a Git-LFS pointer; Error(kData) if truncated or not Parquet
  static ParquetReader open(const std::string& path);
  ParquetReader(ParquetReader&&) noexcept;
  ParquetReader& operator=(ParquetReader&&) noexcept;
  ~ParquetReader();

  const std::string& path() const;
  const std::vector<ColumnInfo>& columns() const;
  const ColumnInfo* find(std::string_view name) const;
  /// @throws Error(kData) that names the columns that exist
  const ColumnInfo& column(std::string_view name) const;
  int64_t num_rows() const;
  int num_row_groups() const;
  int64_t row_group_rows(int row_group) const;
  int64_t row_group_bytes(int row_group) const;  ///< uncompressed
  /// Key-value metadata of the schema ("pandas", "huggingface"). Empty if absent.
  std::string metadata(std::string_view key) const;

  // @throws Error(kData) for a missing column, another type, a null or a ragged row (naming the row), a corrupt page
  NumericColumn read_numeric(std::string_view name, int first = 0, int last = -1) const;
  std::vector<std::string> read_texts(std::string_view name, int first = 0, int last = -1) const;
  std::vector<std::vector<std::string>> read_text_lists(std::string_view name, int first = 0, int last = -1) const;
  std::vector<ImageCell> read_images(std::string_view name, int first = 0, int last = -1) const;
  /// Numeric lists whose length may differ from row to row, nested ones flattened.
  std::vector<std::vector<double>> read_ragged(std::string_view name, int first = 0, int last = -1) const;
  /// Several numeric columns in one pass over the file.
  std::vector<NumericColumn> read_numerics(const std::vector<std::string>& names, int first = 0, int last = -1) const;
  /// Calls body(first row, values) with one numeric column piece by piece, in order. A piece has at most 65536 rows, so
  /// that memory stays small however large a row group is.
  void for_each_piece(std::string_view name, const std::function<void(int64_t, NumericColumn&&)>& body) const;
  /// The same with several columns side by side, of row groups [first, last).
  void for_each_piece(const std::vector<std::string>& names, int first, int last,
                      const std::function<void(int64_t, std::vector<NumericColumn>&&)>& body) const;

 private:
  struct State;
  explicit ParquetReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flexor::table
