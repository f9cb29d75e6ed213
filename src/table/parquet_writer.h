#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "table/parquet_reader.h"

namespace flexor::table {

/// How the values of a row are laid out.
enum class Layout {
  kScalar,     ///< one value
  kFixedList,  ///< fixed_size_list<T>[width]
  kList,       ///< list<T>
  kNested,     ///< list<list<...<T>>> of the sizes `nesting`
};

/// One column to write. `values` decides the Arrow type: uint8 = bool, int64, float, double, text, image struct.
struct WriteColumn {
  using TextLists = std::vector<std::vector<std::string>>;
  std::string name;
  Layout layout = Layout::kScalar;
  int64_t width = 1;  ///< values a row; of numeric columns
  std::variant<std::vector<uint8_t>, std::vector<int64_t>, std::vector<float>, std::vector<double>,
               std::vector<std::string>, TextLists, std::vector<ImageCell>>
      values = {};
  std::vector<int64_t> nesting = {};  ///< of kNested: sizes of the lists from the outermost in
  /// Of each row: 0 is null. Empty: no row is. A null row has no values in kNested, a placeholder elsewhere.
  std::vector<uint8_t> present = {};
};

/// Writes a Parquet file row group by row group (Snappy, dictionary). The file appears under its name with close();
/// without it nothing is left behind.
class ParquetWriter {
 public:
  /// @param metadata  key-value pairs of the schema
  /// @throws Error(kFile) when the place is not writable
  explicit ParquetWriter(std::string path, std::map<std::string, std::string> metadata = {});
  ~ParquetWriter();
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;

  /// One row group. Every call must name the same columns with the same types.
  /// @throws Error(kData) for columns of unequal length or another schema; Error(kFile) for a full disk
  void write_row_group(const std::vector<WriteColumn>& columns);
  void close();  ///< @throws Error(kFile)

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One row group, one file.
void write_parquet(const std::string& path, const std::vector<WriteColumn>& columns,
                   std::map<std::string, std::string> metadata = {});

}  // namespace flexor::table
