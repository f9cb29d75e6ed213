#include "curate/rewrite_plan.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"

namespace flexor::curate {
namespace {

void add_episode(RewritePlan& plan, size_t source, size_t episode) {
  plan.episodes.push_back({source, episode, plan.num_frames});
  plan.num_frames += plan.sources[source]->episodes[episode].length;
}

/// "3:7" -> 3, 7.
std::optional<std::pair<int64_t, int64_t>> parse_range(const Json& json) {
  if (!json.is_string()) {
    return std::nullopt;
  }
  const std::string& text = json.as_string();
  const size_t colon = text.find(':');
  int64_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  if (colon == std::string::npos || std::from_chars(text.data(), text.data() + colon, first).ec != std::errc() ||
      std::from_chars(text.data() + colon + 1, end, last).ec != std::errc()) {
    return std::nullopt;
  }
  return std::pair(first, last);
}

Json one_split(size_t num_episodes) {
  return Json::object({{"train", str_cat("0:", num_episodes)}});
}

/// The source's splits over the episodes that are kept; a single one when they do not fit the episodes.
Json kept_splits(const SourceDataset& source, const std::vector<size_t>& kept) {
  const Json* splits = source.info.json.find("splits");
  Json result = Json::object();
  const auto total = static_cast<int64_t>(source.episodes.size());
  for (size_t i = 0; splits && splits->is_object() && i < splits->size(); ++i) {
    const auto& [name, text] = splits->as_object()[i];
    const auto range = parse_range(text);
    if (!range || range->first < 0 || range->second > total || range->first > range->second) {
      return one_split(kept.size());
    }
    const auto place = [&](int64_t episode) {
      return std::lower_bound(kept.begin(), kept.end(), static_cast<size_t>(episode)) - kept.begin();
    };
    if (place(range->second) > place(range->first)) {
      result[name] = str_cat(place(range->first), ":", place(range->second));
    }
  }
  return result.size() > 0 ? result : one_split(kept.size());
}

/// Keeps the tasks of `source` that `wanted` accepts, in the order of their numbers.
template <typename Wanted>
void number_tasks(const SourceDataset& source, const Wanted& wanted, RewritePlan& plan) {
  plan.task_maps.emplace_back();
  for (const auto& [number, text] : source.tasks) {
    if (wanted(text)) {
      plan.task_maps.back()[number] = static_cast<int64_t>(plan.tasks.size());
      plan.tasks.push_back(text);
    }
  }
}

bool has_annotations(const SourceDataset& source) {
  return std::any_of(source.info.features.begin(), source.info.features.end(), [](const data::FeatureInfo& feature) {
    return feature.recorded_name.starts_with("annotation.") && feature.is_numeric() && feature.size() == 1;
  });
}

/// What must agree of a feature for its values to stand in one dataset.
std::string facts_of(const data::FeatureInfo& feature) {
  return str_cat(feature.dtype, " ", Json(feature.shape).dump(), " ", Json(feature.names).dump(),
                 feature.is_depth ? " depth" : "");
}

[[noreturn]] void refuse_merge(const SourceDataset& a, const SourceDataset& b, const std::string& what) {
  throw Error(ErrorKind::kData, what, str_cat(b.info.info_path, " beside ", a.info.info_path),
              "only datasets of the same robot, rate and features can be merged");
}

void check_alike(const SourceDataset& a, const SourceDataset& b) {
  if (!(a.info.fps == b.info.fps)) {
    refuse_merge(a, b, str_cat("fps is ", b.info.fps.value(), ", in the first dataset ", a.info.fps.value()));
  }
  if (a.info.robot_type != b.info.robot_type) {
    refuse_merge(
        a, b, str_cat("robot_type is \"", b.info.robot_type, "\", in the first dataset \"", a.info.robot_type, "\""));
  }
  for (const data::FeatureInfo& feature : a.info.features) {
    const data::FeatureInfo* other = b.info.find(feature.name);
    if (!other) {
      refuse_merge(a, b, str_cat("no feature ", feature.name, ", which the first dataset has"));
    }
    if (facts_of(feature) != facts_of(*other)) {
      refuse_merge(
          a, b,
          str_cat("feature ", feature.name, " is ", facts_of(*other), ", in the first dataset ", facts_of(feature)));
    }
  }
  for (const data::FeatureInfo& feature : b.info.features) {
    if (!a.info.find(feature.name)) {
      refuse_merge(a, b, str_cat("feature ", feature.name, ", which the first dataset lacks"));
    }
  }
  const auto has = [](const SourceDataset& source) {
    return [&source](const data::FeatureInfo& camera) { return source.camera_number(camera.recorded_name) >= 0; };
  };
  if (!std::all_of(a.cameras.begin(), a.cameras.end(), has(b)) ||
      !std::all_of(b.cameras.begin(), b.cameras.end(), has(a))) {
    refuse_merge(a, b, "not the same cameras have videos");
  }
}

}  // namespace

const SourceVideo& RewritePlan::video(size_t number, size_t camera) const {
  const SourceDataset& source = *sources[episodes[number].source];
  const int64_t there = source.camera_number(model().cameras[camera].recorded_name);
  return episode(number).videos[static_cast<size_t>(there)];
}

RewritePlan plan_convert(const SourceDataset& source) {
  RewritePlan plan{.sources = {&source}};
  std::vector<size_t> kept;
  for (size_t i = 0; i < source.episodes.size(); ++i) {
    add_episode(plan, 0, i);
    kept.push_back(i);
  }
  number_tasks(source, [](const std::string&) { return true; }, plan);
  plan.splits = kept_splits(source, kept);
  return plan;
}

RewritePlan plan_subset(const SourceDataset& source, const std::vector<int64_t>& episodes) {
  RewritePlan plan{.sources = {&source}, .by_file = true};
  std::vector<size_t> kept;
  for (const int64_t number : std::set<int64_t>(episodes.begin(), episodes.end())) {
    if (number < 0 || number >= static_cast<int64_t>(source.episodes.size())) {
      throw Error(ErrorKind::kConfig,
                  str_cat("no episode ", number, "; the dataset has ", source.episodes.size(), " (0 to ",
                          source.episodes.size() - 1, ")"),
                  source.info.root);
    }
    kept.push_back(static_cast<size_t>(number));
    add_episode(plan, 0, kept.back());
  }
  if (kept.empty()) {
    throw Error(ErrorKind::kConfig, "no episode would be left", source.info.root);
  }
  std::set<std::string> used;
  bool all_listed = !has_annotations(source);
  for (const size_t i : kept) {
    used.insert(source.episodes[i].tasks.begin(), source.episodes[i].tasks.end());
    all_listed = all_listed && !source.episodes[i].tasks.empty();
  }
  number_tasks(source, [&](const std::string& text) { return !all_listed || used.contains(text); }, plan);
  plan.splits = kept_splits(source, kept);
  return plan;
}

RewritePlan plan_merge(const std::vector<SourceDataset>& sources) {
  RewritePlan plan{.by_file = true};
  std::unordered_map<std::string, int64_t> numbers;
  for (size_t i = 0; i < sources.size(); ++i) {
    check_alike(sources[0], sources[i]);
    plan.sources.push_back(&sources[i]);
    for (size_t episode = 0; episode < sources[i].episodes.size(); ++episode) {
      add_episode(plan, i, episode);
    }
    plan.task_maps.emplace_back();
    for (const auto& [number, text] : sources[i].tasks) {
      const auto [known, is_new] = numbers.try_emplace(text, static_cast<int64_t>(plan.tasks.size()));
      if (is_new) {
        plan.tasks.push_back(text);
      }
      plan.task_maps.back()[number] = known->second;
    }
  }
  plan.splits = one_split(plan.episodes.size());
  return plan;
}

}  // namespace flexor::curate
