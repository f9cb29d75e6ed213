// Any bytes as a Parquet file: every column is read in every way that its type allows, or an Error says why not.
#include <functional>

#include "base/error.h"
#include "scratch_folder.h"
#include "table/parquet_reader.h"

namespace {

void attempt(const std::function<void()>& body) {
  try {
    body();
  } catch (const flexor::Error&) {
  }
}

void read_all(const flexor::table::ParquetReader& reader) {
  using flexor::table::ValueKind;
  constexpr int64_t kMaxRows = 1 << 20;  // a footer may promise any number
  if (reader.num_rows() < 0 || reader.num_rows() > kMaxRows) {
    return;
  }
  for (const auto& column : reader.columns()) {
    if (column.kind == ValueKind::kText) {
      attempt([&] {
        column.depth == 0 ? (void)reader.read_texts(column.name) : (void)reader.read_text_lists(column.name);
      });
    } else if (column.kind == ValueKind::kImage) {
      attempt([&] { (void)reader.read_images(column.name); });
    } else {
      attempt([&] { (void)reader.read_numeric(column.name); });
      attempt([&] { reader.for_each_piece(column.name, [](int64_t, const flexor::table::NumericColumn&) {}); });
      attempt([&] { (void)reader.read_ragged(column.name); });
    }
  }
  (void)reader.metadata("pandas");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const flexor::fuzz::ScratchFolder folder;
  const std::string path = folder.write("table.parquet", data, size);
  attempt([&] { read_all(flexor::table::ParquetReader::open(path)); });
  return 0;
}
