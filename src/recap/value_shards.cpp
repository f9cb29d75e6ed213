#include "recap/value_shards.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/file_errors.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/recap_config.h"
#include "table/parquet_reader.h"
#include "table/parquet_writer.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan = "plan.json";
constexpr std::string_view kFilePrefix = "values_", kSuffix = ".parquet";

bool has_plan(const std::string& folder, const Json& plan) {
  try {
    return fs::exists(folder + "/" + kPlan) && Json::read_file(folder + "/" + kPlan) == plan;
  } catch (const Error&) {
    return false;  // what cannot be read is written again
  }
}

/// The first frame of a shard, by its name.
std::optional<int64_t> first_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kFilePrefix) || !name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  const std::string digits = name.substr(kFilePrefix.size(), name.size() - kFilePrefix.size() - kSuffix.size());
  const bool is_number =
      !digits.empty() && digits.size() < 16 &&
      std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? std::optional<int64_t>(std::stoll(digits)) : std::nullopt;
}

/// Empty for a file that cannot be read.
std::vector<float> read_shard(const std::string& path) {
  try {
    auto column = table::ParquetReader::open(path).read_numeric("value");
    auto* values = std::get_if<std::vector<float>>(&column.values);
    return values == nullptr ? std::vector<float>() : std::move(*values);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string shards_folder(const std::string& root, std::string_view tag) {
  const std::string name = sidecar_name("advantages", tag);
  return str_cat(root, "/meta/", name.substr(0, name.rfind('.')), ".shards");
}

void remove_value_shards(const std::string& folder) {
  std::error_code code;
  fs::remove_all(folder, code);
  if (code) {  // what is left would be taken for values of the next plan
    throw_file_error("cannot remove the values of an earlier run", folder, code.value());
  }
}

ValueShards::ValueShards(std::string folder, const Json& plan) : folder_(std::move(folder)) {
  if (has_plan(folder_, plan)) {
    take_over();
    return;
  }
  remove_value_shards(folder_);
  write_file_atomic(folder_ + "/" + kPlan, plan.dump(2));
}

void ValueShards::take_over() {
  std::vector<Shard> found;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (const auto first = first_of(entry.path())) {
      found.push_back({*first, entry.path().string()});
    }
  }
  std::sort(found.begin(), found.end(), [](const Shard& a, const Shard& b) { return a.first < b.first; });
  for (const Shard& shard : found) {
    const std::vector<float> values = shard.first == size() ? read_shard(shard.path) : std::vector<float>();
    if (values.empty()) {
      fs::remove(shard.path);  // and all that follow, since none of them starts where this one should have
      continue;
    }
    values_.insert(values_.end(), values.begin(), values.end());
    shards_.push_back(shard);
  }
}

void ValueShards::truncate(int64_t count) {
  while (!shards_.empty() && shards_.back().first >= count) {
    fs::remove(shards_.back().path);
    shards_.pop_back();
  }
  if (size() > count) {
    const int64_t first = shards_.empty() ? 0 : shards_.back().first;
    values_.resize(static_cast<size_t>(count));
    if (!shards_.empty()) {  // the last one is cut
      const std::vector<float> rest(values_.begin() + first, values_.end());
      values_.resize(static_cast<size_t>(first));
      shards_.pop_back();
      append(rest);
    }
  }
}

void ValueShards::append(std::span<const float> values) {
  if (values.empty()) {
    return;
  }
  std::string number = str_cat(size());
  constexpr size_t kDigits = 12;
  number.insert(0, kDigits - std::min(kDigits, number.size()), '0');
  const std::string path = str_cat(folder_, "/", kFilePrefix, number, kSuffix);
  table::write_parquet(path, {{.name = "value", .values = std::vector<float>(values.begin(), values.end())}});
  shards_.push_back({size(), path});
  values_.insert(values_.end(), values.begin(), values.end());
}

void ValueShards::remove() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace flexor::recap
