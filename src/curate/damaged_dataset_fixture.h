#pragma once
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "table/parquet_reader.h"
#include "table/parquet_writer.h"
#include "testing/golden.h"

namespace flexor::curate {

/// A copy of one of the small datasets of tests/data, for tests to damage. Removed at the end.
class DamagedDataset {
 public:
  using Columns = std::vector<table::WriteColumn>;

  explicit DamagedDataset(const std::string& name) : root_(new_folder()) {
    namespace fs = std::filesystem;
    fs::remove_all(root_);
    fs::copy(testing::tests_path("data/datasets/" + name), root_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    }
  }
  ~DamagedDataset() { std::filesystem::remove_all(root_); }
  DamagedDataset(const DamagedDataset&) = delete;
  DamagedDataset& operator=(const DamagedDataset&) = delete;

  const std::string& root() const { return root_; }
  std::string path(const std::string& file) const { return root_ + "/" + file; }

  void write(const std::string& file, const std::string& content) const {
    std::ofstream(path(file), std::ios::binary | std::ios::trunc) << content;
  }
  void remove(const std::string& file) const { std::filesystem::remove_all(path(file)); }
  void cut(const std::string& file, uintmax_t bytes) const {
    std::filesystem::resize_file(path(file), std::filesystem::file_size(path(file)) - bytes);
  }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy_file(path(from), path(to), std::filesystem::copy_options::overwrite_existing);
  }

  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(path(file));
    const size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << file << " has no " << from;
    write(file, text.replace(place, from.size(), to));
  }

  void edit_json(const std::string& file, const std::function<void(Json&)>& edit) const {
    Json json = Json::read_file(path(file));
    edit(json);
    write(file, json.dump(4));
  }

  /// Rewrites a table, the statistics of episodes left out, after `edit` changed its columns.
  void edit_table(const std::string& file, const std::function<void(Columns&)>& edit) const {
    Columns columns = read_columns(path(file));
    edit(columns);
    table::write_parquet(path(file), columns);
  }

  template <typename T>
  void set(const std::string& file, const std::string& column, size_t element, T value) const {
    edit_table(file, [&](Columns& columns) { values<T>(columns, column)[element] = value; });
  }

  template <typename T>
  static std::vector<T>& values(Columns& columns, const std::string& name) {
    return std::get<std::vector<T>>(find(columns, name).values);
  }
  static table::WriteColumn& find(Columns& columns, const std::string& name) {
    for (table::WriteColumn& column : columns) {
      if (column.name == name) {
        return column;
      }
    }
    throw std::out_of_range(name);
  }
  static void drop(Columns& columns, const std::string& name) {
    std::erase_if(columns, [&](const table::WriteColumn& column) { return column.name == name; });
  }

 private:
  /// Spaces and letters beyond ASCII in every path of these tests.
  static std::string new_folder() {
    static int number = 0;
    return str_cat(::testing::TempDir(), "damaged dätaset ", ::getpid(), "-", number++);
  }

  static Columns read_columns(const std::string& path) {
    Columns columns;
    const auto reader = table::ParquetReader::open(path);
    for (const table::ColumnInfo& info : reader.columns()) {
      if (info.name.starts_with("stats/")) {
        continue;
      }
      table::WriteColumn write{info.name, table::Layout::kScalar, 1, {}};
      if (info.kind == table::ValueKind::kImage) {
        write.values = reader.read_images(info.name);
      } else if (info.kind == table::ValueKind::kText && info.depth == 0) {
        write.values = reader.read_texts(info.name);
      } else if (info.kind == table::ValueKind::kText) {
        write.values = reader.read_text_lists(info.name);
      } else {
        auto column = reader.read_numeric(info.name);
        write.layout = info.depth > 0 ? table::Layout::kList : table::Layout::kScalar;
        write.width = column.width;
        std::visit([&](auto& numbers) { write.values = std::move(numbers); }, column.values);
      }
      columns.push_back(std::move(write));
    }
    return columns;
  }

  const std::string root_;
};

}  // namespace flexor::curate
