#include "labels.h"

#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "demonstrator.h"
#include "table/parquet_reader.h"

namespace flexor::place_block {
namespace {

struct Sum {
  int64_t frames = 0, positive = 0;
  double advantage = 0;

  void add(bool is_positive, double value) {
    ++frames;
    positive += is_positive ? 1 : 0;
    advantage += value;
  }
  double share() const { return frames == 0 ? 0 : static_cast<double>(positive) / static_cast<double>(frames); }
  double mean() const { return frames == 0 ? 0 : advantage / static_cast<double>(frames); }
};

std::string row(std::string_view name, const Sum& all, const Sum& first) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "| %s | %lld | %.1f | %+.3f | %.1f | %+.3f |\n", std::string(name).c_str(),
                static_cast<long long>(all.frames), 100 * all.share(), all.mean(), 100 * first.share(), first.mean());
  return text.data();
}

}  // namespace

void fields(config::FieldTable& table, LabelsOptions& o) {
  table.positional("dir", o.root, "dataset that `record` wrote and RECAP labelled");
  table("tag", o.tag, "tag of the labels; default: none");
}

void print_labels(const LabelsOptions& options, std::ostream& out) {
  constexpr int64_t kFirst = 5;
  const std::vector<std::string> behaviours =
      table::ParquetReader::open(options.root + "/meta/episodes/chunk-000/file-000.parquet").read_texts("behaviour");
  const std::string file =
      str_cat(options.root, "/meta/advantages", options.tag.empty() ? "" : "_", options.tag, ".parquet");
  const std::vector<table::NumericColumn> columns = table::ParquetReader::open(file).read_numerics(
      {"episode_index", "frame_index", "advantage", "advantage_continuous"});
  std::map<std::string, std::array<Sum, 2>, std::less<>> sums;
  for (int64_t row = 0; row < columns[0].rows; ++row) {
    const double episode = columns[0].at(row);
    if (episode < 0 || episode >= static_cast<double>(behaviours.size())) {
      throw Error(ErrorKind::kData,
                  str_cat("episode ", episode, " has a label, the dataset has ", behaviours.size(), " episodes"), file,
                  "label this dataset anew");
    }
    auto& [all, first] = sums[behaviours[static_cast<size_t>(episode)]];
    const bool is_positive = columns[2].at(row) != 0;
    all.add(is_positive, columns[3].at(row));
    if (columns[1].at(row) < kFirst) {
      first.add(is_positive, columns[3].at(row));
    }
  }
  out << "| behaviour | frames | positive % | mean advantage | first 5 frames: positive % | mean advantage |\n"
         "| --- | --- | --- | --- | --- | --- |\n";
  for (const Behaviour behaviour : kBehaviours) {
    if (const auto found = sums.find(behaviour_name(behaviour)); found != sums.end()) {
      out << row(found->first, found->second[0], found->second[1]);
    }
  }
}

}  // namespace flexor::place_block
