#include "recap/judged_labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "recap/advantages.h"
#include "recap/mixture_config.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

std::vector<float> as_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

void check_finite(const JudgedRows& rows, const std::vector<float>& column, std::string_view name) {
  const auto bad = std::find_if(column.begin(), column.end(), [](float value) { return !std::isfinite(value); });
  if (bad != column.end()) {
    const auto row = static_cast<size_t>(bad - column.begin());
    throw Error(ErrorKind::kData, str_cat(name, " is ", *bad, ", expected a finite number"),
                str_cat(rows.path, ", episode ", rows.episode_index[row], ", frame ", rows.dataset.frame_index[row]),
                kLabelAgain);
  }
}

std::optional<double> number_at(const Json* place, const char* key) {
  const Json* found = place == nullptr ? nullptr : place->find(key);
  return found != nullptr && found->is_number() ? std::optional(found->as_double()) : std::nullopt;
}

/// What the reference's files say: meta/mixture_config.yaml below the tag, else at its top; else the smallest score of
/// a positive frame, where not all are positive anyway.
std::optional<double> noted_threshold(const JudgedDataset& dataset, const std::string& tag) {
  const Json noted = read_mixture_config(mixture_path(dataset.root));
  const Json* tags = noted.find("tags");
  for (const Json* place : {tags == nullptr ? nullptr : tags->find(tag), &noted}) {
    for (const char* key : {"unified_threshold", "positive_threshold"}) {
      if (const auto found = number_at(place, key)) {
        return found;
      }
    }
  }
  std::optional<double> smallest;
  for (size_t row = 0; row < dataset.size() && !is_sft(dataset.type); ++row) {
    if (dataset.labels[row] != 0) {
      smallest = std::min(smallest.value_or(dataset.scores[row]), dataset.scores[row]);
    }
  }
  return smallest;
}

void find_thresholds(JudgedDataset& dataset, const std::string& tag) {
  const Json& made_by = dataset.made_by;
  dataset.threshold = number_at(&made_by, "threshold");
  if (!dataset.threshold) {
    dataset.threshold = number_at(&made_by, "positive_threshold");  // of an ensemble
  }
  if (!dataset.threshold) {
    dataset.threshold = noted_threshold(dataset, tag);
  }
  if (const Json* by_task = made_by.find("task_thresholds"); by_task != nullptr && by_task->is_object()) {
    for (const auto& [task, threshold] : by_task->as_object()) {
      if (threshold.is_number()) {
        dataset.task_thresholds[task] = threshold.as_double();
      }
    }
  }
}

template <typename T>
void reorder(std::vector<T>& column, const std::vector<size_t>& order) {
  if (column.empty()) {
    return;
  }
  std::vector<T> sorted(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sorted[i] = column[order[i]];
  }
  column = std::move(sorted);
}

void reorder(JudgedRows& rows, const std::vector<size_t>& order) {
  JudgedDataset& dataset = rows.dataset;
  reorder(rows.episode_index, order);
  reorder(dataset.frame_index, order);
  reorder(dataset.returns, order);
  reorder(dataset.values, order);
  reorder(dataset.scores, order);
  reorder(dataset.disagreement, order);
  reorder(dataset.labels, order);
}

}  // namespace

void sort_judged_rows(JudgedRows& rows) {
  const auto key = [&rows](size_t row) { return std::pair(rows.episode_index[row], rows.dataset.frame_index[row]); };
  const auto before = [&key](size_t a, size_t b) { return key(a) < key(b); };
  std::vector<size_t> order(rows.dataset.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
    reorder(rows, order);
  }
  for (size_t row = 1; row < order.size(); ++row) {
    if (key(row) == key(row - 1)) {
      throw Error(ErrorKind::kData, "the frame stands twice",
                  str_cat(rows.path, ", episode ", key(row).first, ", frame ", key(row).second), kLabelAgain);
    }
  }
}

void read_judged_labels(JudgedRows& rows, const std::string& tag) {
  JudgedDataset& dataset = rows.dataset;
  AdvantageFile file = read_advantages(dataset.root, tag);
  rows.path = file.path;
  rows.episode_index = std::move(file.rows.episode_index);
  dataset.frame_index = std::move(file.rows.frame_index);
  dataset.scores = std::move(file.rows.advantage_continuous);
  dataset.labels = std::move(file.rows.advantage);
  if (dataset.labels.size() != dataset.size()) {
    throw Error(ErrorKind::kData, "the file has no column advantage", file.path, kLabelAgain);
  }
  for (uint8_t& label : dataset.labels) {
    label = label != 0 ? 1 : 0;
  }
  dataset.returns = as_floats(file.rows.returns);
  dataset.values = as_floats(file.rows.value_current);
  check_finite(rows, dataset.returns, "return");
  check_finite(rows, dataset.values, "value_current");
  dataset.made_by = file.made_by.value_or(Json());
  const auto reader = table::ParquetReader::open(file.path);
  if (reader.find("p_progress_variance") != nullptr) {
    const table::NumericColumn column = reader.read_numeric("p_progress_variance");
    for (int64_t row = 0; row < column.rows; ++row) {
      dataset.disagreement.push_back(static_cast<float>(column.at(row)));
    }
    check_finite(rows, dataset.disagreement, "p_progress_variance");
  }
  find_thresholds(dataset, tag);
}

}  // namespace flexor::recap
