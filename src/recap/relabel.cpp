#include "recap/relabel.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "recap/advantages.h"
#include "recap/mixture_config.h"
#include "recap/sidecar.h"
#include "table/parquet_reader.h"

namespace flexor::recap {
namespace {

struct Source {
  std::string root;
  AdvantageFile file;
  LabelPool pool;
};

/// Rows of the returns sidecar in the order of the advantages, for what it knows beside the return.
std::vector<int64_t> returns_rows(const AdvantageRows& rows, const ReturnsSidecar& returns) {
  const FrameRows frames(returns.episode_index, returns.frame_index, returns.path);
  std::vector<int64_t> result;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = frames.find(rows.episode_index[i], rows.frame_index[i]);
    if (!row) {
      throw Error(ErrorKind::kData, "a frame that has an advantage has no return",
                  str_cat(returns.path, ", episode ", rows.episode_index[i], ", frame ", rows.frame_index[i]),
                  "flexor recap returns --config FILE");
    }
    result.push_back(*row);
  }
  return result;
}

/// Advantages of another look-ahead from the values that the sidecar holds.
AdvantageRows recompute(const Source& source, const ReturnsSidecar& returns, const AdvantageRules& rules) {
  const AdvantageRows& old = source.file.rows;
  if (old.value_current.empty()) {
    throw Error(ErrorKind::kData, "the sidecar has no value_current, which another look-ahead needs", source.file.path,
                "flexor recap advantages --config FILE; labels of an ensemble (STEAM) have none");
  }
  for (size_t i = 0; i < old.size(); ++i) {
    if (!std::isfinite(old.value_current[i])) {
      throw Error(ErrorKind::kData, str_cat("value_current is ", old.value_current[i], ", expected a finite number"),
                  str_cat(source.file.path, ", episode ", old.episode_index[i], ", frame ", old.frame_index[i]),
                  "flexor recap advantages --config FILE writes them again");
    }
  }
  FrameColumns frames{old.episode_index, old.frame_index, {}, {}};
  check_frame_order(frames, source.file.path);
  for (const int64_t row : returns_rows(old, returns)) {
    frames.returns.push_back(returns.returns[static_cast<size_t>(row)]);
    frames.rewards.push_back(returns.rewards[static_cast<size_t>(row)]);
  }
  return n_step_advantages(frames, old.value_current, frames.size(), rules);
}

/// The range that the labels were made with: given, noted in the sidecar, noted in mixture_config.yaml, else of the
/// returns.
ReturnRange range_of(const DataSection& data, const Source& source, const std::vector<const ReturnsSidecar*>& returns) {
  ReturnRange range = common_range(returns, std::nullopt, std::nullopt);
  const auto take = [&range](const Json* low, const Json* high) {
    if (low != nullptr && high != nullptr && low->is_number() && high->is_number()) {
      range = {low->as_double(), high->as_double()};
    }
  };
  const Json mixture = read_mixture_config(mixture_path(source.root));
  take(mixture.find("global_return_min"), mixture.find("global_return_max"));
  if (source.file.made_by) {
    take(source.file.made_by->find("return_min"), source.file.made_by->find("return_max"));
  }
  return {data.return_min.value_or(range.min), data.return_max.value_or(range.max)};
}

std::vector<Source> read_sources(const RecapConfig& config, const std::string& tag) {
  const DataSection& data = config.advantages.data;
  std::vector<Source> sources;
  for (const DatasetEntry& entry : data.train_data_paths) {
    Source& source = sources.emplace_back();
    source.root = resolved_path(data, entry.dataset_path);
    source.file = read_advantages(source.root, tag);
    (void)read_mixture_config(mixture_path(source.root));  // before anything is written
    source.pool.name = entry.shown_name();
    source.pool.type = entry.type.empty() ? data.dataset_type : entry.type;
  }
  return sources;
}

/// The sidecar with other labels; if its scores were computed anew, in step 3's columns.
void write_source(const Source& source, const std::string& path, bool recomputed, const Json& made_by) {
  const AdvantageFile& file = source.file;
  if (recomputed) {
    write_advantages(path, file.rows, file.dataset_name.empty() ? source.pool.name : file.dataset_name, made_by);
  } else {
    write_labels(file.path, path, file.rows.advantage, made_by);
  }
}

std::vector<std::string> prompts_of(const Source& source, const ReturnsSidecar& returns) {
  const std::vector<std::string> prompts = table::ParquetReader::open(returns.path).read_texts("prompt");
  std::vector<std::string> result;
  for (const int64_t row : returns_rows(source.file.rows, returns)) {
    result.push_back(prompts[static_cast<size_t>(row)]);
  }
  return result;
}

/// New scores, and tasks where thresholds need them.
void prepare(std::vector<Source>& sources, const RecapConfig& config, const RelabelOptions& options) {
  const AdvantageSection& section = config.advantages.advantage;
  const DataSection& data = config.advantages.data;
  const bool per_task = section.threshold_from == "task";
  std::vector<ReturnsSidecar> returns;
  std::vector<const ReturnsSidecar*> pointers;
  if (options.lookahead || per_task) {
    for (const Source& source : sources) {
      returns.push_back(read_returns(source.root, section.returns_tag));
    }
    for (const ReturnsSidecar& sidecar : returns) {
      pointers.push_back(&sidecar);
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    Source& source = sources[i];
    if (options.lookahead) {
      const AdvantageRules rules{.gamma = data.gamma,
                                 .lookahead = *options.lookahead,
                                 .discount_next_value = section.discount_next_value,
                                 .range = range_of(data, source, pointers)};
      if (rules.range.max <= rules.range.min) {
        throw Error(ErrorKind::kData, str_cat("the returns span no range: ", rules.range.min, " to ", rules.range.max),
                    source.root, "data.return_min, data.return_max");
      }
      source.file.rows = recompute(source, returns[i], rules);
    }
    if (per_task) {
      source.pool.tasks = prompts_of(source, returns[i]);
    }
    source.pool.scores = source.file.rows.advantage_continuous;
  }
}

Json provenance(const Source& source, const RecapConfig& config, const RelabelOptions& options, const Labels& labels,
                const std::string& source_tag, const std::string& new_tag) {
  Json made_by = source.file.made_by.value_or(Json::object());
  made_by["step"] = "relabel";
  made_by["tag"] = new_tag;
  made_by["source_tag"] = source_tag;
  made_by["type"] = source.pool.type;
  made_by["threshold"] = labels.threshold;
  made_by["threshold_from"] = options.threshold ? std::string("given") : config.advantages.advantage.threshold_from;
  made_by["positive_quantile"] = config.advantages.advantage.positive_quantile;
  if (options.lookahead) {
    made_by["lookahead"] = *options.lookahead;
    made_by["gamma"] = config.advantages.data.gamma;
  }
  add_task_thresholds(made_by, labels);
  return made_by;
}

}  // namespace

RelabelResult relabel(const RecapConfig& config, const RelabelOptions& options) {
  const AdvantageSection& section = config.advantages.advantage;
  const std::string source_tag = options.source_tag.value_or(section.tag);
  const std::string new_tag = options.new_tag.value_or(section.tag);
  if (const std::string problem = tag_problem(new_tag); !problem.empty()) {
    throw Error(ErrorKind::kConfig, problem, "--new-tag", "letters, digits, '-' and '_'");
  }
  std::vector<Source> sources = read_sources(config, source_tag);
  prepare(sources, config, options);
  std::vector<LabelPool> pools;
  std::vector<std::string> names;
  for (Source& source : sources) {
    pools.push_back(std::move(source.pool));
    source.pool = {.name = pools.back().name, .type = pools.back().type};
    names.push_back(source.pool.name);
  }
  Labels labels = label_pools(pools, {.positive_quantile = section.positive_quantile,
                                      .from = section.threshold_from,
                                      .threshold = options.threshold,
                                      .force_sft = !options.reference});
  RelabelResult result{.threshold = labels.threshold, .by_task = labels.by_task};
  for (size_t i = 0; i < sources.size(); ++i) {
    Source& source = sources[i];
    LabelReport report = label_report(pools[i], labels.labels[i], labels, source.file.rows.value_current);
    source.file.rows.advantage = labels.labels[i];
    report.sidecar = str_cat(source.root, "/meta/", sidecar_name("advantages", new_tag));
    write_source(source, report.sidecar, options.lookahead.has_value(),
                 provenance(source, config, options, labels, source_tag, new_tag));
    const std::string path = mixture_path(source.root);
    Json mixture = read_mixture_config(path);
    note_relabel(mixture, names, new_tag, labels.threshold, section.positive_quantile, !options.reference);
    write_file_atomic(path, block_yaml(mixture));
    log_info("labels written", {{"file", report.sidecar}, {"frames", report.frames}, {"positive", report.positive}});
    result.reports.push_back(std::move(report));
  }
  return result;
}

}  // namespace flexor::recap
