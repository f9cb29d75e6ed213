#include "curate/edit.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "curate/rewrite_plan.h"
#include "curate/verify.h"
#include "media/video_reader.h"

namespace flexor::curate {
namespace {

TargetVersion version_of(const SourceDataset& source) {
  return source.info.major == 3 ? TargetVersion::kV30 : TargetVersion::kV21;
}

RewriteOptions rewrite_options(const EditOptions& options, TargetVersion otherwise) {
  return {.version = options.version.value_or(otherwise), .limits = options.limits, .reencode = options.reencode};
}

/// True for what only concerns episodes that are left out.
bool concerns_only(const data::Finding& finding, const std::set<int64_t>& left_out) {
  return finding.episode && left_out.contains(*finding.episode);
}

/// Logs the first warnings, throws when there are errors.
void report(std::vector<data::Finding> findings, const std::string& root) {
  constexpr size_t kShown = 8;
  size_t warnings = 0;
  std::erase_if(findings, [&](const data::Finding& finding) {
    return finding.severity == data::Severity::kWarning && ++warnings > kShown;
  });
  data::report_findings(findings, root);
  if (warnings > kShown) {
    log_warn("more warnings", {{"count", warnings - kShown}, {"see", str_cat("flexor dataset verify ", root)}});
  }
}

/// The dataset, if nothing is wrong with it that training would refuse.
SourceDataset open_checked(const std::string& root, const std::set<int64_t>& left_out = {}) {
  std::vector<data::Finding> findings = verify_dataset({.root = root}).findings;
  std::erase_if(findings, [&](const data::Finding& finding) { return concerns_only(finding, left_out); });
  report(std::move(findings), root);
  return open_source(root, left_out);
}

/// info.json says one codec per camera, and in v2.1 every episode keeps its file.
void check_codecs(const std::vector<SourceDataset>& datasets) {
  const auto probe = [](const SourceDataset& dataset, std::string_view camera) {
    const auto number = static_cast<size_t>(dataset.camera_number(camera));
    return std::pair(dataset.episodes.front().videos[number].path,
                     media::probe_video(dataset.episodes.front().videos[number].path));
  };
  if (std::ranges::any_of(datasets, [](const SourceDataset& dataset) { return dataset.episodes.empty(); })) {
    return;
  }
  for (const data::FeatureInfo& camera : datasets.front().cameras) {
    const auto [first_path, first] = probe(datasets.front(), camera.recorded_name);
    for (const SourceDataset& dataset : std::span(datasets).subspan(1)) {
      const auto [path, video] = probe(dataset, camera.recorded_name);
      if (video.codec != first.codec || video.pix_fmt != first.pix_fmt) {
        throw Error(ErrorKind::kData,
                    str_cat("camera ", camera.recorded_name, " is ", video.codec, " ", video.pix_fmt,
                            ", in the first dataset ", first.codec, " ", first.pix_fmt),
                    str_cat(path, " beside ", first_path), "--to v3.0 --reencode encodes such videos again");
      }
    }
  }
}

}  // namespace

RewriteReport convert_dataset(const std::string& source, const std::string& target, const EditOptions& options) {
  check_new_folder(target, {source});
  const SourceDataset dataset = open_checked(source);
  return rewrite(plan_convert(dataset), target, rewrite_options(options, version_of(dataset)));
}

RewriteReport merge_datasets(const std::vector<std::string>& sources, const std::string& target,
                             const EditOptions& options) {
  check_new_folder(target, sources);
  std::vector<SourceDataset> datasets;
  TargetVersion newest = TargetVersion::kV21;
  for (const std::string& source : sources) {
    datasets.push_back(open_checked(source));
    newest = std::max(newest, version_of(datasets.back()));
  }
  const RewritePlan plan = plan_merge(datasets);
  const RewriteOptions settings = rewrite_options(options, newest);
  if (settings.version == TargetVersion::kV21) {
    check_codecs(datasets);
  }
  return rewrite(plan, target, settings);
}

RewriteReport delete_episodes(const std::string& source, const std::string& target,
                              const std::vector<int64_t>& episodes, const EditOptions& options) {
  check_new_folder(target, {source});
  const std::set<int64_t> unwanted(episodes.begin(), episodes.end());
  const SourceDataset dataset = open_checked(source, unwanted);
  const auto total = static_cast<int64_t>(dataset.episodes.size());
  std::vector<int64_t> kept;
  for (int64_t episode = 0; episode < total; ++episode) {
    if (!unwanted.contains(episode)) {
      kept.push_back(episode);
    }
  }
  for (const int64_t episode : unwanted) {
    if (episode < 0 || episode >= total) {
      throw Error(ErrorKind::kConfig,
                  str_cat("no episode ", episode, "; the dataset has ", total, " (0 to ", total - 1, ")"), source,
                  "--episodes lists episode_index values");
    }
  }
  return rewrite(plan_subset(dataset, kept), target, rewrite_options(options, version_of(dataset)));
}

std::vector<RewriteReport> split_dataset(const std::string& source, const std::string& target,
                                         const std::vector<SplitPart>& parts, const EditOptions& options) {
  check_split_parts(parts);
  check_new_folder(target, {source});
  const SourceDataset dataset = open_checked(source);
  const auto episodes = split_episodes(parts, static_cast<int64_t>(dataset.episodes.size()), source);
  StagedFolder staged(target);
  std::vector<RewriteReport> reports;
  for (size_t i = 0; i < parts.size(); ++i) {
    reports.push_back(rewrite(plan_subset(dataset, episodes[i]), staged.path() + "/" + parts[i].name,
                              rewrite_options(options, version_of(dataset))));
    reports.back().dataset = target + "/" + parts[i].name;
  }
  check_new_folder(target, {source});
  staged.commit_new();
  return reports;
}

}  // namespace flexor::curate
