#include "curate/edit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
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

[[noreturn]] void refuse_text(const std::string& text, const std::string& expected) {
  throw Error(ErrorKind::kUsage, str_cat("\"", text, "\", expected ", expected));
}

int64_t parse_number(const std::string& text, const std::string& whole) {
  int64_t number = -1;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0) {
    refuse_text(whole, "episodes such as 3 or 0-9 or 0-9,12");
  }
  return number;
}

/// Episodes of each part. @param total  of the dataset
std::vector<std::vector<int64_t>> episodes_of(const std::vector<SplitPart>& parts, int64_t total) {
  double sum = 0;
  std::vector<std::vector<int64_t>> result;
  int64_t next = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].share) {
      result.push_back(parts[i].episodes);
      continue;
    }
    constexpr double kRounding = 1e-9;  // of a sum of shares such as 0.7 + 0.2 + 0.1
    sum += *parts[i].share;
    int64_t count = static_cast<int64_t>(std::floor(static_cast<double>(total) * *parts[i].share + kRounding));
    if (i + 1 == parts.size() && std::abs(sum - 1) < kRounding) {
      count = total - next;
    }
    if (sum > 1 + kRounding) {
      throw Error(ErrorKind::kConfig, str_cat("the shares sum to more than 1 (", sum, ")"));
    }
    auto& episodes = result.emplace_back();
    for (int64_t k = 0; k < count; ++k) {
      episodes.push_back(next++);
    }
  }
  return result;
}

void check_parts(const std::vector<SplitPart>& parts, const std::vector<std::vector<int64_t>>& episodes) {
  std::set<std::string> names;
  std::set<int64_t> taken;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!names.insert(parts[i].name).second) {
      throw Error(ErrorKind::kConfig, str_cat("two parts are called ", parts[i].name));
    }
    if (episodes[i].empty()) {
      throw Error(ErrorKind::kConfig, str_cat("part ", parts[i].name, " would have no episode"));
    }
    if (parts[i].share.has_value() != parts[0].share.has_value()) {
      throw Error(ErrorKind::kConfig, str_cat("part ", parts[i].name, " and part ", parts[0].name,
                                              ": give shares to all parts, or episodes to all"));
    }
    for (const int64_t episode : episodes[i]) {
      if (!taken.insert(episode).second) {
        throw Error(ErrorKind::kConfig,
                    str_cat("episode ", episode, " stands in two parts, or twice in ", parts[i].name));
      }
    }
  }
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
                  str_cat("no episode ", episode, "; the dataset has ", total, " (0 to ", total - 1, ")"), source);
    }
  }
  return rewrite(plan_subset(dataset, kept), target, rewrite_options(options, version_of(dataset)));
}

std::vector<int64_t> parse_episodes(const std::string& text) {
  std::vector<int64_t> episodes;
  for (const std::string& part : split_text(text, ',')) {
    const size_t dash = part.find('-');
    const int64_t first = parse_number(part.substr(0, dash), text);
    const int64_t last = dash == std::string::npos ? first : parse_number(part.substr(dash + 1), text);
    constexpr int64_t kMost = 10'000'000;
    if (last < first || last - first > kMost) {
      refuse_text(text, "episodes such as 3 or 0-9 or 0-9,12");
    }
    for (int64_t episode = first; episode <= last; ++episode) {
      episodes.push_back(episode);
    }
  }
  return episodes;
}

SplitPart parse_split_part(const std::string& text) {
  const size_t equals = text.find('=');
  SplitPart part;
  part.name = text.substr(0, equals);
  const bool is_name = !part.name.empty() && part.name.find('/') == std::string::npos && part.name[0] != '.';
  if (equals == std::string::npos || !is_name) {
    refuse_text(text, "NAME=SHARE or NAME=EPISODES, such as train=0.8 or val=0-9,12");
  }
  const std::string value = text.substr(equals + 1);
  if (value.find('.') == std::string::npos) {
    part.episodes = parse_episodes(value);
    return part;
  }
  double share = 0;
  const char* end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, share);
  if (result.ec != std::errc() || result.ptr != end || !(share > 0 && share <= 1)) {
    refuse_text(text, "a share above 0 and up to 1, such as train=0.8");
  }
  part.share = share;
  return part;
}

std::vector<RewriteReport> split_dataset(const std::string& source, const std::string& target,
                                         const std::vector<SplitPart>& parts, const EditOptions& options) {
  check_new_folder(target, {source});
  const SourceDataset dataset = open_checked(source);
  const auto episodes = episodes_of(parts, static_cast<int64_t>(dataset.episodes.size()));
  check_parts(parts, episodes);
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
